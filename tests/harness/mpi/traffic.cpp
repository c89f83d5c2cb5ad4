#include "tests/harness/mpi/traffic.hpp"

#include <algorithm>
#include <mutex>

namespace dist::harness {
namespace {

std::mutex lock;
Traffic counted;
int round_last = 0;  // the latest that any thread of this rank has seen
int last_send_end = 0;
std::set<int> receive_rounds;  // those in which a message came in
std::vector<MessageRecord> received;
long generation = 0;  // of the clocks: reset_traffic() begins a new one

// The clock of the calling thread. Threads do not wait for each other's messages: a send by one
// does not come after a receive by another merely because it was posted later.
int& round_now() {
    thread_local long seen_generation = -1;
    thread_local int now = 0;
    if (seen_generation != generation) {
        seen_generation = generation;
        now = 0;
    }
    return now;
}

void advance_round(int end) {
    round_now() = std::max(round_now(), end);
    round_last = std::max(round_last, end);
}

}  // namespace

void reset_traffic() {
    const std::scoped_lock guard(lock);
    counted = Traffic{};
    round_last = last_send_end = 0;
    receive_rounds.clear();
    received.clear();
    ++generation;
}

Traffic traffic() {
    const std::scoped_lock guard(lock);
    Traffic now = counted;
    now.rounds = round_last;
    return now;
}

int count_send(int dst, int payload_bytes) {
    const std::scoped_lock guard(lock);
    ++counted.messages_sent;
    counted.bytes_sent += payload_bytes;
    counted.sent_to.insert(dst);
    return last_send_end = std::max(round_now(), last_send_end) + 1;
}

void count_arrival(int clock) {
    const std::scoped_lock guard(lock);
    advance_round(clock);
}

int current_round() {
    const std::scoped_lock guard(lock);
    return round_now();
}

void count_receive(MessageRecord message, int posted) {
    const std::scoped_lock guard(lock);
    ++counted.messages_received;
    counted.bytes_received += message.bytes;
    counted.received_from.insert(message.src);
    message.end = std::max(message.begin, posted) + 1;
    while (!receive_rounds.insert(message.end).second) {
        ++message.end;
    }
    received.push_back(message);
    advance_round(message.end);
}

std::vector<MessageRecord> received_messages() {
    const std::scoped_lock guard(lock);
    return received;
}

void count_message(bool is_send, int peer, long payload_bytes) {
    const std::scoped_lock guard(lock);
    ++(is_send ? counted.messages_sent : counted.messages_received);
    (is_send ? counted.bytes_sent : counted.bytes_received) += payload_bytes;
    (is_send ? counted.sent_to : counted.received_from).insert(peer);
}

void count_collective() {
    const std::scoped_lock guard(lock);
    ++counted.collectives;
}

}  // namespace dist::harness
