// What the threads of a rank did with messages, as the harness logs it and as it stands in a record.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dist::trace {

enum class Did : int { send, receive, wait_send, wait_receive, start_thread, join_thread };

/// What a thread of a rank did. Times are seconds of CLOCK_MONOTONIC, the same for all ranks of a machine.
struct Step {
    Did did = Did::send;
    int thread = 0;  // who did it
    int id = 0;      // of the message, numbered by the rank that posted it, or of the other thread
    int peer = -1;   // to whom; of a receive that was waited for, from whom; -1: not known
    int peer_id =
        -1;  // of a receive that was waited for: how the sender numbered the message; -1: it is the next one
    int tag = -1;
    int bytes = 0;       // payload
    double since_s = 0;  // since when it had waited
    double at_s = 0;
};

/// What a call may cost a rank, where it cost more. What is not set was not exceeded.
struct Limits {
    static constexpr long kAny = std::numeric_limits<long>::max();
    long messages = kAny;  // that it may send
    long bytes = kAny;     //
    long rounds = kAny;
    std::optional<std::set<int>> partners = {};  // whom it may exchange messages with
};

/// What a message carried, and where the code under test kept it.
struct Payload {
    std::uint64_t at = 0;  // address on that rank; 0: not known
    std::string values;    // the first ones, "3 -5 8"; empty: not known
};

/// Memory that a call was given: "data" of 40 bytes.
struct Memory {
    std::string name;
    std::uint64_t at = 0;
    long bytes = 0;
};

/// What one rank did in the last piece of code that was looked at.
struct Log {
    std::vector<Step> steps;
    bool cut = false;  // there were more
    Limits limits;
    /// Who made each of its sends, in their order, where `trace` asks: a stack, innermost first. The launcher makes
    /// "ring_all_gather   zero2.cpp:57" of it.
    std::vector<std::vector<std::uint64_t>> stacks = {};
    std::vector<std::string> calls = {};
    std::vector<Payload> payloads =
        {};  // where `trace` asks: of each send and wait_receive, in their order
    std::vector<Memory> memory = {};  // where `trace` asks
};

inline constexpr std::size_t kMostSteps = 2000;  // of a rank, in a record

}  // namespace dist::trace
