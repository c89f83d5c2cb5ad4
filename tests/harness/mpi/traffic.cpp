#include "tests/harness/mpi/traffic.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace dist::harness {
namespace {

struct Received {
    MessageRecord message;
    int id;
};

std::mutex traffic_lock;
Traffic so_far;
std::vector<Received> received;
std::vector<Step> steps;
bool logs = false;
// Numbers are never used again: a message of an earlier log is known as such.
int last_message = 0;
int last_thread = 0;
thread_local int my_thread = 0;  // 0: not known yet

int this_thread() {
    if (my_thread == 0) {
        my_thread = ++last_thread;
    }
    return my_thread;
}

void log(Did did, int id, int peer = -1, int peer_id = -1) {
    if (logs) {
        steps.push_back({did, this_thread(), id, peer, peer_id});
    }
}

}  // namespace

void reset_traffic(bool log) {
    const std::scoped_lock guard(traffic_lock);
    so_far = Traffic{};
    received.clear();
    steps.clear();
    logs = log;
}

std::vector<Step> end_log() {
    const std::scoped_lock guard(traffic_lock);
    logs = false;
    return std::exchange(steps, {});
}

Traffic traffic() {
    const std::scoped_lock guard(traffic_lock);
    return so_far;
}

int count_send(int dst, int payload_bytes) {
    const std::scoped_lock guard(traffic_lock);
    ++so_far.messages_sent;
    so_far.bytes_sent += payload_bytes;
    so_far.sent_to.insert(dst);
    log(Did::send, ++last_message);
    return last_message;
}

int count_post() {
    const std::scoped_lock guard(traffic_lock);
    log(Did::receive, ++last_message);
    return last_message;
}

void count_arrival(int id) {
    const std::scoped_lock guard(traffic_lock);
    log(Did::wait_send, id);
}

void count_receive(const MessageRecord& message, int id, int sender, int sender_id) {
    const std::scoped_lock guard(traffic_lock);
    ++so_far.messages_received;
    so_far.bytes_received += message.bytes;
    so_far.received_from.insert(message.src);
    received.push_back({message, id});
    log(Did::wait_receive, id, sender, sender_id);
}

std::vector<MessageRecord> received_messages() {
    const std::scoped_lock guard(traffic_lock);
    std::vector<MessageRecord> messages;
    messages.reserve(received.size());
    for (const Received& one : received) {
        messages.push_back(one.message);
    }
    return messages;
}

void note_schedule(const Schedule& schedule, int rank) {
    const std::scoped_lock guard(traffic_lock);
    const auto key = [](const Delivery& one) { return std::pair(one.receiver, one.id); };
    for (auto& [message, id] : received) {
        const std::pair wanted(rank, id);
        const auto found = std::ranges::lower_bound(schedule.deliveries, wanted, {}, key);
        if (found != schedule.deliveries.end() && key(*found) == wanted) {
            message.begin = found->begin;
            message.end = found->end;
        }
    }
}

void count_message(bool is_send, int peer, long payload_bytes) {
    const std::scoped_lock guard(traffic_lock);
    ++(is_send ? so_far.messages_sent : so_far.messages_received);
    (is_send ? so_far.bytes_sent : so_far.bytes_received) += payload_bytes;
    (is_send ? so_far.sent_to : so_far.received_from).insert(peer);
}

void count_collective() {
    const std::scoped_lock guard(traffic_lock);
    ++so_far.collectives;
}

int start_thread() {
    const std::scoped_lock guard(traffic_lock);
    const int number = ++last_thread;
    log(Did::start_thread, number);
    return number;
}

void begin_thread(int number) {
    my_thread = number;
}

void join_thread(int number) {
    const std::scoped_lock guard(traffic_lock);
    log(Did::join_thread, number);
}

}  // namespace dist::harness
