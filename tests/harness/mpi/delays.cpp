#include "tests/harness/mpi/delays.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "course/runtime/seeded.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {
std::atomic<int> late_ms = 0;
std::atomic<int> late_messages_ms = 0;
std::atomic<bool> failing = false;
std::atomic<bool> failed = false;  // some message, since then
std::atomic<long> until_failure = 0;
}  // namespace

void seeded_delay() {
    static const bool wanted = [] {
        const char* text = std::getenv(kEnvDelays);
        return text != nullptr && std::strcmp(text, "1") == 0;
    }();
    if (!wanted) {
        return;
    }
    static std::atomic<std::uint64_t> call = 0;
    const auto stream = seeded_bits(seed(), static_cast<std::uint64_t>(world_rank()));
    const std::uint64_t bits = seeded_bits(stream, call.fetch_add(1));
    if (bits % 3 == 0) {
        usleep(static_cast<useconds_t>((bits >> 8U) % 500));
    }
}

void late_delay() {
    if (late_ms > 0) {
        usleep(static_cast<useconds_t>(late_ms) * 1000);
    }
}

void late_message_delay() {
    if (late_messages_ms > 0) {
        usleep(static_cast<useconds_t>(late_messages_ms) * 1000);
    }
}

bool messages_fail() {
    failed = failed || failing;
    return failing;
}

FailingMessages::FailingMessages() {
    failed = false;
    failing = true;
}
FailingMessages::~FailingMessages() {
    failing = false;
}
bool FailingMessages::met() const {
    return failed;
}

bool message_fails() {
    return --until_failure == 0;
}

FailingMessage::FailingMessage(long number) {
    until_failure = number;
}
FailingMessage::~FailingMessage() {
    until_failure = 0;
}

LateMessages::LateMessages(int milliseconds) {
    late_messages_ms = milliseconds;
}
LateMessages::~LateMessages() {
    late_messages_ms = 0;
}

Late::Late(int milliseconds) {
    late_ms = milliseconds;
}
Late::~Late() {
    late_ms = 0;
}

}  // namespace dist::harness
