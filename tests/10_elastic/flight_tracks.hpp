// Records of ranks, written down as short texts, and what diagnose() has to find in them.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exercises/10_elastic/flight_recorder.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using Ms = Clock::Duration;
using Findings = std::vector<FlightFinding>;
using Members = std::map<std::string, std::vector<int>>;

/// The operations that texts name by a letter. Each stands in a line of its own.
struct Letter {
    FlightCall call;
    int line = 0;
    bool is_p2p = false;
};

inline const std::map<char, Letter>& letters() {
    static const std::map<char, Letter> all = {
        {'A', {{.name = "all_reduce", .count = 100, .op = "sum"}, 10}},
        {'n', {{.name = "all_reduce", .count = 101, .op = "sum"}, 11}},
        {'m', {{.name = "all_reduce", .count = 100, .op = "max"}, 12}},
        {'t', {{.name = "all_reduce", .count = 100, .type = "float64", .op = "sum"}, 13}},
        {'l', {{.name = "all_reduce", .count = 100, .op = "sum"}, 14}},
        {'B', {{.name = "broadcast", .count = 100, .root = 0}, 20}},
        {'b', {{.name = "broadcast", .count = 100, .root = 1}, 21}},
        {'c', {{.name = "broadcast", .count = 7, .root = 1}, 22}},
        {'C', {{.name = "all_gather", .count = 50}, 30}},
        {'D', {{.name = "reduce_scatter", .count = 200, .op = "sum"}, 40}},
        {'E', {{.name = "barrier", .count = 0}, 50}},
        {'S', {{.name = "send", .count = 8, .root = 1}, 70, true}},
        {'R', {{.name = "recv", .count = 8, .root = 1}, 80, true}}};
    return all;
}

/// A rank's record: letters in the order of its calls, in group "dp" until another group is named
/// in brackets. Behind a letter, . says that it is in it still, and : that it has not started it.
/// Before a letter, _ says that it computed for 5 s, and ~ that the operation took 5 s longer. What
/// stands before | has fallen out of the ring. ! before a letter: it took 0 ms, and so does what is behind it. So "A_A[tp]C." has called two all_reduce in "dp", one
/// 5 s after the other, and is in an all_gather in "tp". No two ranks' clocks agree.
inline FlightRecord record_of(int rank, const std::string& text, const Members& groups) {
    FlightRecord record;
    record.rank = rank;
    for (const auto& [name, members] : groups) {
        if (std::ranges::count(members, rank) > 0) {
            record.groups[name].members = members;
        }
    }
    Ms now{86'400'000 * ((rank * 5) % 7 - 3)};
    std::string group = "dp";
    Ms inside{2};
    Ms behind_it{1};
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char sign = text[i];
        if (sign == '[') {
            const std::size_t end = text.find(']', i);
            group = text.substr(i + 1, end - i - 1);
            i = end;
        } else if (sign == '_') {
            now += Ms(5000);
        } else if (sign == '~') {
            inside += Ms(5000);
        } else if (sign == '!') {
            inside = behind_it = Ms(0);
        } else if (sign == '|') {
            record.dropped += std::ssize(record.entries);
            record.entries.clear();
        } else if (const auto known = letters().find(sign); known != letters().end()) {
            const Letter& letter = known->second;
            FlightGroup& counts = record.groups.at(group);
            ++(letter.is_p2p ? counts.p2ps : counts.collectives);
            const char behind = i + 1 < text.size() ? text[i + 1] : ' ';
            FlightEntry entry{
                .id = record.dropped + std::ssize(record.entries) + 1,
                .group = group,
                .is_p2p = letter.is_p2p,
                .collective_seq = counts.collectives,
                .p2p_seq = counts.p2ps,
                .call = letter.call,
                .where = {"train.cpp", letter.line},
                .scheduled = now};
            if (behind != ':') {
                entry.state = FlightState::started;
                entry.started = now;
            }
            if (behind != ':' && behind != '.') {
                entry.state = FlightState::completed;
                entry.completed = now + inside;
                now += inside;
            }
            record.entries.push_back(entry);
            now += std::exchange(behind_it, Ms(1));
            inside = Ms(2);
        }
    }
    return record;
}

inline std::string name_of(FlightFault fault) {
    static const std::map<FlightFault, std::string> names = {
        {FlightFault::skipped, "skipped"},
        {FlightFault::other_collective, "other_collective"},
        {FlightFault::other_root, "other_root"},
        {FlightFault::other_op, "other_op"},
        {FlightFault::other_type, "other_type"},
        {FlightFault::other_size, "other_size"},
        {FlightFault::no_majority, "no_majority"},
        {FlightFault::behind, "behind"},
        {FlightFault::no_record, "no_record"},
        {FlightFault::slow, "slow"}};
    const auto known = names.find(fault);
    return known == names.end() ? "no fault" : known->second;
}

/// A finding that has to come.
struct Found {
    FlightFault fault;
    int rank;
    std::int64_t number;  // of the collective
    int line;             // of the other rank's call; 0: of any that is another than its own
    int instead;          // line of what the rank did; 0: not known
    std::string group = "dp";
};

inline std::string text_of(const Found& found) {
    std::ostringstream text;
    text << name_of(found.fault) << ": rank " << found.rank << ", " << found.group << " "
         << found.number << ", "
         << (found.line == 0 ? "another call" : "line " + std::to_string(found.line))
         << ", instead "
         << (found.instead == 0 ? "nothing" : "line " + std::to_string(found.instead));
    return text.str();
}

inline Found found_of(const FlightFinding& finding) {
    const FlightEntry& other = finding.collective;
    const bool may_be_any = finding.fault == FlightFault::no_majority && finding.instead &&
                            finding.instead->call != other.call;
    return {
        .fault = finding.fault,
        .rank = finding.rank,
        .number = other.collective_seq,
        .line = may_be_any ? 0 : other.where.line,
        .instead = finding.instead ? finding.instead->where.line : 0,
        .group = other.group};
}

/// All findings, one behind the other.
inline std::string text_of(const std::vector<Found>& all) {
    std::vector<std::string> lines;
    for (const Found& found : all) {
        lines.push_back(text_of(found));
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) {
        text += (text.empty() ? "" : "; ") + line;
    }
    return text.empty() ? "nothing" : text;
}

inline Comparison same_findings(const Findings& got, const std::vector<Found>& expected) {
    std::vector<Found> all;
    for (const FlightFinding& finding : got) {
        all.push_back(found_of(finding));
    }
    const std::string found = text_of(all);
    const std::string wanted = text_of(expected);
    return {found == wanted, "expected " + wanted + ", got " + found};
}

/// What each rank noted, in lines that people can read.
inline std::string text_of(const std::vector<FlightRecord>& records) {
    static const std::map<FlightState, std::string> states = {
        {FlightState::scheduled, " (scheduled)"},
        {FlightState::started, " (started)"},
        {FlightState::completed, ""}};
    std::string text;
    for (const FlightRecord& record : records) {
        text += "\n  rank " + std::to_string(record.rank) + ":";
        text += record.dropped > 0 ? " (" + std::to_string(record.dropped) + " fell out)" : "";
        for (const FlightEntry& entry : record.entries) {
            const std::string number = entry.is_p2p ? "" : std::to_string(entry.collective_seq);
            text += " " + entry.group + number + "=" + entry.call.name + ":" +
                    std::to_string(entry.where.line) + states.at(entry.state);
        }
    }
    return text;
}

/// Ranks by number, each as record_of() reads it; empty: it left no record.
struct Job {
    std::string what;
    std::vector<std::string> ranks;
    std::vector<Found> expected = {};
    Members groups = {};  // none: all are in "dp"
    Ms slow{1000};
};

inline std::vector<FlightRecord> records_of(const Job& job) {
    Members groups = job.groups;
    for (int rank = 0; job.groups.empty() && rank < std::ssize(job.ranks); ++rank) {
        groups["dp"].push_back(rank);
    }
    std::vector<FlightRecord> records;
    for (int rank = 0; rank < std::ssize(job.ranks); ++rank) {
        const std::string& text = job.ranks[static_cast<std::size_t>(rank)];
        if (!text.empty()) {
            records.push_back(record_of(rank, text, groups));
        }
    }
    return records;
}

/// Diagnoses each, with records in their order, and turned round.
inline void diagnoses(const std::vector<Job>& jobs) {
    on_ranks({1}, [&](const Communicator&) {
        for (const Job& job : jobs) {
            std::vector<FlightRecord> records = records_of(job);
            INFO(job.what << text_of(records));
            const Comparison result = same_findings(diagnose(records, job.slow), job.expected);
            REQUIRE(result);
            INFO("the same records in another order");
            std::ranges::reverse(records);
            const Comparison turned = same_findings(diagnose(records, job.slow), job.expected);
            REQUIRE(turned);
        }
    });
}

}  // namespace dist::harness
