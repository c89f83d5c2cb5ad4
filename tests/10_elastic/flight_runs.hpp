// Runs of ranks that go through programs, drawn by a seed: what their recorders would have kept.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/10_elastic/flight_tracks.hpp"

namespace dist::harness {

struct Draw {
    std::uint64_t seed = 0;
    std::uint64_t drawn = 0;

    /// 0 to end-1.
    std::size_t operator()(std::size_t end) { return seeded_bits(seed, drawn++) % end; }
};

/// What a rank does, line by line of its program.
struct Deed {
    std::string group = {};
    FlightCall call = {};
    int line = 0;
    bool is_p2p = false;
    bool is_async = false;  // in a background thread; the program goes on
};

struct Plan {
    Members groups = {};
    std::vector<std::vector<Deed>> programs = {};  // by rank

    std::vector<Deed>& of(int rank) { return programs.at(static_cast<std::size_t>(rank)); }
};

/// Programs that fit each other: collectives of these groups, and messages between their members.
inline Plan drawn_plan(Draw& draw, int p, const Members& groups) {
    Plan plan{groups, std::vector<std::vector<Deed>>(static_cast<std::size_t>(p))};
    const bool is_async = draw(2) == 0;
    const std::size_t length = 8 + draw(12);
    for (std::size_t step = 0; step < length; ++step) {
        const auto& [name, members] =
            *std::next(groups.begin(), static_cast<long>(draw(groups.size())));
        Deed deed{.group = name, .line = 100 + static_cast<int>(step)};
        if (draw(4) == 0 && members.size() > 1) {
            const std::size_t src = draw(members.size());
            const int dst = members[(src + 1) % members.size()];
            deed.is_p2p = true;
            deed.call = {.name = "send", .count = 8, .root = dst};
            plan.of(members[src]).push_back(deed);
            deed.call = {.name = "recv", .count = 8, .root = members[src]};
            plan.of(dst).push_back(deed);
            continue;
        }
        deed.call = letters().at("AnmBCDE"[draw(7)]).call;
        if (deed.call.root >= 0) {
            deed.call.root = members[draw(members.size())];
        }
        deed.is_async = is_async && name == "dp";
        for (const int member : members) {
            plan.of(member).push_back(deed);
        }
    }
    return plan;
}

/// A rank that comes to this place in its program 5 s after all others stand still.
struct LateRank {
    int rank = -1;
    std::size_t place = 0;
};

/// Ranks that go on in an order that is drawn. Collectives are paired by number, whatever ranks
/// call: who errs gets through.
class DrawnRun {
  public:
    DrawnRun(Plan plan, std::uint64_t seed, LateRank late = {})
        : plan_(std::move(plan)), draw_{seed}, late_(late) {
        for (int rank = 0; rank < std::ssize(plan_.programs); ++rank) {
            records.push_back(record_of(rank, "", plan_.groups));
        }
    }

    std::vector<FlightRecord> records;  // nothing has fallen out

    /// One thing happens on one rank. False where nothing can.
    bool step() {
        const std::vector<Move> moves = possible();
        if (moves.empty()) {
            const bool is_late = late_.rank >= 0;
            late_.rank = -1;
            now_ += Ms(5000);
            return is_late;
        }
        const auto [rank, place] = moves[draw_(moves.size())];
        FlightRecord& record = records[static_cast<std::size_t>(rank)];
        now_ += Ms(1);
        const Ms now = now_ + Ms(86'400'000 * ((rank * 5) % 7 - 3));
        if (place == record.entries.size()) {
            schedule(record, plan_.of(rank)[place], now);
        } else if (FlightEntry& entry = record.entries[place];
                   entry.state == FlightState::scheduled) {
            entry.state = FlightState::started;
            entry.started = now;
        } else {
            entry.state = FlightState::completed;
            entry.completed = now;
        }
        return true;
    }

  private:
    struct Move {
        int rank = 0;
        std::size_t place = 0;  // in the rank's program, and so among its entries
    };

    static void schedule(FlightRecord& record, const Deed& deed, Ms now) {
        FlightGroup& counts = record.groups.at(deed.group);
        ++(deed.is_p2p ? counts.p2ps : counts.collectives);
        record.entries.push_back(
            {.id = std::ssize(record.entries) + 1,
             .group = deed.group,
             .is_p2p = deed.is_p2p,
             .collective_seq = counts.collectives,
             .p2p_seq = counts.p2ps,
             .call = deed.call,
             .where = {"train.cpp", deed.line},
             .scheduled = now}
        );
    }

    std::vector<Move> possible() {
        std::vector<Move> moves;
        for (FlightRecord& record : records) {
            const std::vector<Deed>& program = plan_.of(record.rank);
            bool is_blocked = false;  // the program's thread
            bool is_busy = false;     // the one in the background
            std::size_t place = 0;
            for (; place < record.entries.size(); ++place) {
                const FlightEntry& entry = record.entries[place];
                if (entry.state == FlightState::completed) {
                    continue;
                }
                bool& has_one = program[place].is_async ? is_busy : is_blocked;
                if (!has_one &&
                    (entry.state == FlightState::scheduled || may_leave(record.rank, entry))) {
                    moves.push_back({record.rank, place});
                }
                has_one = true;
            }
            const bool is_late = record.rank == late_.rank && place == late_.place;
            if (!is_blocked && place < program.size() && !is_late) {
                moves.push_back({record.rank, place});
            }
        }
        return moves;
    }

    /// The root of a broadcast leaves at once, and others when it has come. From other collectives
    /// nobody does before all have come.
    bool may_leave(int rank, const FlightEntry& entry) {
        const int root = entry.call.root;
        return entry.is_p2p || rank == root ||
               std::ranges::all_of(plan_.groups.at(entry.group), [&](int member) {
                   return (root >= 0 && member != root) || has_come(member, entry);
               });
    }

    bool has_come(int rank, const FlightEntry& other) {
        const auto& entries = records[static_cast<std::size_t>(rank)].entries;
        return std::ranges::any_of(entries, [&](const FlightEntry& entry) {
            return !entry.is_p2p && entry.group == other.group &&
                   entry.collective_seq == other.collective_seq &&
                   entry.state != FlightState::scheduled;
        });
    }

    Plan plan_;
    Draw draw_;
    LateRank late_;
    Ms now_{0};
};

/// A rank's collective in whole records; none if it has not called it.
inline std::optional<FlightEntry> collective_of(
    const std::vector<FlightRecord>& records,
    int rank,
    const std::string& group,
    std::int64_t number
) {
    for (const FlightEntry& entry : records.at(static_cast<std::size_t>(rank)).entries) {
        if (!entry.is_p2p && entry.group == group && entry.collective_seq == number) {
            return entry;
        }
    }
    return std::nullopt;
}

/// What a ring of so many would have kept.
inline void keep(FlightRecord& record, std::size_t capacity) {
    while (record.entries.size() > capacity) {
        record.entries.pop_front();
        ++record.dropped;
    }
}

/// Whether a finding says what is so, and no more than who is awaited.
inline Comparison is_true(const FlightFinding& finding, const std::vector<FlightRecord>& whole) {
    const std::string& group = finding.collective.group;
    const std::int64_t number = finding.collective.collective_seq;
    const auto own = collective_of(whole, finding.rank, group, number);
    const bool has_not_started = !own || own->state == FlightState::scheduled;
    const bool is_member = whole.at(static_cast<std::size_t>(finding.rank)).groups.contains(group);
    const bool is_awaited = finding.fault == FlightFault::no_record ||
                            (finding.fault == FlightFault::behind && has_not_started);
    return {
        is_member && is_awaited && finding.collective.state != FlightState::scheduled,
        "nobody has done anything wrong, and it says\n  " + name_of(finding.fault) + ": " +
            finding.text()};
}

inline void right_runs_are_right() {
    on_ranks({1}, [](const Communicator&) {
        long awaited = 0;
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            Draw draw{seed};
            const int p = 2 + static_cast<int>(draw(4));
            Members groups = {{"ends", {0, p - 1}}, {"one", {p - 1}}};
            for (int rank = 0; rank < p; ++rank) {
                groups["dp"].push_back(rank);
                groups[rank % 2 == 0 ? "even" : "odd"].push_back(rank);
            }
            DrawnRun run(drawn_plan(draw, p, groups), seed);
            std::size_t left = draw(4) == 0 ? 10'000 : draw(40 * static_cast<std::size_t>(p));
            while (left > 0 && run.step()) {
                --left;
            }
            std::vector<FlightRecord> records = run.records;
            for (FlightRecord& record : records) {
                keep(record, draw(2) == 0 ? 1000 : 1 + draw(12));
            }
            if (draw(3) == 0) {
                records.erase(records.begin() + static_cast<long>(draw(records.size())));
            }
            INFO("seed " << seed << text_of(run.records));
            const Findings findings = diagnose(records);
            Comparison all_true;
            for (const FlightFinding& finding : findings) {
                all_true = all_true ? is_true(finding, run.records) : all_true;
            }
            REQUIRE(all_true);
            const bool has_ended = left > 0;
            const Comparison silent = {
                !has_ended || findings.empty(), "all have come to the end, and it finds something"};
            REQUIRE(silent);
            awaited += std::ssize(findings);
        }
        INFO("findings in all runs");
        CHECK(awaited > 20);
    });
}

}  // namespace dist::harness
