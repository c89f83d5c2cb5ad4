// What a rank's flight recorder has noted, as data and as text; and what a diagnosis says of it.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"

namespace dist {

/// A line of the source: std::source_location, which clang 14 does not know.
struct SourceLine {
    std::string file = {};
    int line = 0;

    /// As a default argument, the line of the call.
    static SourceLine here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }

    bool operator==(const SourceLine&) const = default;
};

/// What a rank asks for. Ranks that make the same collective say the same here.
struct FlightCall {
    std::string name = {};         // "all_reduce"
    std::int64_t count = 0;        // elements; -1 where each rank may have another number
    std::string type = "float32";  // of the elements
    std::string op = {};           // "sum"; empty: none
    int root = -1;                 // or the other rank of a send or receive; -1: none

    auto operator<=>(const FlightCall&) const = default;  // NOLINT(modernize-use-nullptr)
};

enum class FlightState { scheduled, started, completed };

/// One operation of one rank.
struct FlightEntry {
    std::int64_t id = 0;     // 1, 2, ... over all operations of this rank
    std::string group = {};  // its name
    bool is_p2p = false;     // a send or receive, and no collective
    std::int64_t collective_seq =
        0;                     // the group's collectives so far; of one, its number: 1, 2, ...
    std::int64_t p2p_seq = 0;  // the same for its sends and receives
    FlightCall call = {};
    SourceLine where = {};
    FlightState state = FlightState::scheduled;
    Clock::Duration scheduled{0};  // when, by this rank's own clock
    Clock::Duration started{0};    // 0 until then
    Clock::Duration completed{0};  // 0 until then

    bool operator==(const FlightEntry&) const = default;
};

/// A group, as one of its members knows it.
struct FlightGroup {
    std::vector<int> members = {};  // ranks of the job
    std::int64_t collectives = 0;   // that this rank has called in it, over all
    std::int64_t p2ps = 0;

    bool operator==(const FlightGroup&) const = default;
};

/// What one rank leaves.
struct FlightRecord {
    int rank = 0;
    std::map<std::string, FlightGroup> groups = {};  // by name: those that this rank is in
    std::deque<FlightEntry> entries = {};  // the newest operations, the oldest of them first
    std::int64_t dropped = 0;              // older ones, which fell out of the ring

    /// The record as text, a line for each thing:
    ///
    ///     rank 2 dropped 17
    ///     group "dp" collectives 9 p2ps 0 members 4 0 1 2 3
    ///     18 "dp" collective 9 0 "all_reduce" 5 "float32" "sum" -1 "ddp.cpp" 88 started 40 41 0
    ///     end
    ///
    /// An operation's line has the fields of FlightEntry in their order, with "collective" or
    /// "p2p" for is_p2p, and milliseconds. Texts are quoted as std::quoted does.
    [[nodiscard]] std::string text() const;

    /// The record that has this text.
    ///
    /// Errors  Error if it is no such text, or a part of one.
    static FlightRecord from(const std::string& text);

    bool operator==(const FlightRecord&) const = default;
};

/// What can be wrong with a rank at a collective. diagnose() of chapter 10 says when it is.
enum class FlightFault {
    skipped,
    other_collective,
    other_root,
    other_op,
    other_type,
    other_size,
    no_majority,
    behind,
    no_record,
    slow
};

struct FlightFinding {
    FlightFault fault = FlightFault::behind;
    int rank = 0;                 // whom it names
    FlightEntry collective = {};  // as another rank called it: group, number, call, line
    std::optional<FlightEntry> instead = {};  // what the rank did, where it is known

    /// One line for people: rank, group, collective, its number, and lines of the source.
    [[nodiscard]] std::string text() const;
};

}  // namespace dist
