#include "tests/harness/mpi/traffic.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "course/protocol/protocol.hpp"
#include "course/runtime/clock.hpp"
#include "tests/harness/channel.hpp"
#include "tests/harness/job/over_fork.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

struct Received {
    MessageRecord message;
    int id;
};

std::mutex traffic_lock;
Traffic so_far;
std::vector<Received> received;
std::vector<trace::Step> steps;
std::vector<std::vector<std::uint64_t>> send_stacks;  // where `trace` asks for them
std::vector<trace::Payload> payloads;                 // likewise
std::vector<trace::Memory> memory;                    //
bool logs = false;
SharedLog* outliving = nullptr;
// Numbers are never used again: a message of an earlier log is known as such.
int last_message = 0;
int last_thread = 0;
thread_local int my_thread = 0;  // 0: not known yet
thread_local double waiting_since_s = -1;

int this_thread() {
    if (my_thread == 0) {
        my_thread = ++last_thread;
    }
    return my_thread;
}

void log(trace::Step step) {
    if (logs) {
        step.thread = this_thread();
        step.at_s = now_s();
        step.since_s = waiting_since_s < 0 ? step.at_s : waiting_since_s;
        steps.push_back(step);
        if (outliving != nullptr && outliving->steps < SharedLog::kRoom) {
            outliving->step[outliving->steps] = step;
            ++outliving->steps;
        }
    }
}

void log_payload(const trace::Payload& payload) {
    if (logs && channel::keeps_payloads()) {
        payloads.push_back(payload);
    }
}

void log_stack() {
    if (logs && channel::keeps_payloads()) {
        Frames frames{};
        capture_frames(frames);
        send_stacks.emplace_back(frames.address, frames.address + frames.count);
    }
}

std::mutex& lock_of_traffic() {
    return traffic_lock;
}

}  // namespace

void keep_traffic_over_fork() {
    keep_over_fork<lock_of_traffic>();
}

void reset_traffic() {
    const std::scoped_lock guard(traffic_lock);
    so_far = Traffic{};
    received.clear();
    steps.clear();
    send_stacks.clear();
    payloads.clear();
    memory.clear();
    logs = true;
}

std::vector<trace::Step> end_log() {
    const std::scoped_lock guard(traffic_lock);
    logs = false;
    return steps;
}

trace::Log last_log() {
    const std::scoped_lock guard(traffic_lock);
    return {
        .steps = steps,
        .limits = {},
        .stacks = send_stacks,
        .payloads = payloads,
        .memory = memory};
}

Traffic traffic() {
    const std::scoped_lock guard(traffic_lock);
    return so_far;
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

void names_memory(const std::string& name, std::span<const float> floats) {
    const std::scoped_lock guard(traffic_lock);
    if (logs && channel::keeps_payloads() && !floats.empty()) {
        memory.push_back(
            {name, reinterpret_cast<std::uint64_t>(floats.data()),
             static_cast<long>(floats.size_bytes())}
        );
    }
}

void note_schedule(const trace::Schedule& schedule, int rank) {
    const std::scoped_lock guard(traffic_lock);
    const auto key = [](const trace::Delivery& one) { return std::pair(one.receiver, one.id); };
    for (auto& [message, id] : received) {
        const std::pair wanted(rank, id);
        const auto found = std::ranges::lower_bound(schedule.deliveries, wanted, {}, key);
        if (found != schedule.deliveries.end() && key(*found) == wanted) {
            message.begin = found->begin;
            message.end = found->end;
        }
    }
}

void log_into(SharedLog& shared) {
    const std::scoped_lock guard(traffic_lock);
    outliving = &shared;
}

void note_listened_to_anyone() {
    const std::scoped_lock guard(traffic_lock);
    so_far.listened_to_anyone = true;
}

void count_collective() {
    const std::scoped_lock guard(traffic_lock);
    ++so_far.collectives;
}

void count_communicator() {
    const std::scoped_lock guard(traffic_lock);
    ++so_far.communicators;
}

int start_thread() {
    const std::scoped_lock guard(traffic_lock);
    const int number = ++last_thread;
    log({.did = Did::start_thread, .id = number});
    return number;
}

void begin_thread(int number) {
    my_thread = number;
}

void join_thread(int number) {
    const std::scoped_lock guard(traffic_lock);
    log({.did = Did::join_thread, .id = number});
}

}  // namespace dist::harness

namespace dist::harness::channel {

bool keeps_payloads() {
    static const bool traces = std::getenv(kEnvTrace) != nullptr;
    return traces;
}

Waiting::Waiting() {
    waiting_since_s = now_s();
}

Waiting::~Waiting() {
    waiting_since_s = -1;
}

int sends(const Carried& message) {
    const std::scoped_lock guard(traffic_lock);
    ++so_far.messages_sent;
    so_far.bytes_sent += message.bytes;
    so_far.sent_to.insert(message.peer);
    log_stack();
    log_payload(message.payload);
    log(
        {.did = Did::send,
         .id = ++last_message,
         .peer = message.job_peer,
         .tag = message.tag,
         .bytes = message.bytes}
    );
    return last_message;
}

void taken(int id) {
    const std::scoped_lock guard(traffic_lock);
    log({.did = Did::wait_send, .id = id});
}

int awaits() {
    const std::scoped_lock guard(traffic_lock);
    log({.did = Did::receive, .id = ++last_message});
    return last_message;
}

void receives(const Carried& message, int id, int sender_id) {
    const std::scoped_lock guard(traffic_lock);
    ++so_far.messages_received;
    so_far.bytes_received += message.bytes;
    so_far.received_from.insert(message.peer);
    MessageRecord record;
    record.src = message.job_peer;
    record.tag = message.tag;
    record.bytes = message.bytes;
    record.first = message.first;
    received.push_back({record, id});
    log_payload(message.payload);
    log(
        {.did = Did::wait_receive,
         .id = id,
         .peer = message.job_peer,
         .peer_id = sender_id,
         .tag = message.tag,
         .bytes = message.bytes}
    );
}

}  // namespace dist::harness::channel
