// Drawn runs in which one rank errs once, and what has to be found then.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/10_elastic/flight_runs.hpp"

namespace dist::harness {

enum class Errs { skips, calls_another, stops, dies, is_late };

/// One rank errs at a collective.
struct Mistake {
    Errs how = Errs::skips;
    int rank = 0;
    std::size_t place = 0;  // in its program
};

/// A mistake at one of the rank's collectives. False if there is none where it could be made.
inline bool draw_place(Draw& draw, Plan& plan, Mistake& mistake) {
    std::vector<std::size_t> places;
    const std::vector<Deed>& program = plan.of(mistake.rank);
    for (std::size_t place = 0; place < program.size(); ++place) {
        const Deed& deed = program[place];
        if (!deed.is_p2p && (mistake.how != Errs::is_late || deed.call.root < 0)) {
            places.push_back(place);
        }
    }
    if (!places.empty()) {
        mistake.place = places[draw(places.size())];
    }
    return !places.empty();
}

/// Changes the rank's program.
inline void make_mistake(Plan& plan, const Mistake& mistake) {
    std::vector<Deed>& program = plan.of(mistake.rank);
    const auto at = program.begin() + static_cast<long>(mistake.place);
    if (mistake.how == Errs::skips) {
        program.erase(at);
    } else if (mistake.how == Errs::calls_another) {
        at->call = {.name = "all_to_all", .count = 3};
        at->line = 999;
    } else if (mistake.how != Errs::is_late) {
        program.erase(at, program.end());
    }
}

/// What a diagnosis of these whole records has to say, looked up where the mistake shows first.
inline std::vector<Found> expected_of(
    const std::vector<FlightRecord>& whole, const Mistake& mistake
) {
    const int rank = mistake.rank;
    const auto& entries = whole.at(static_cast<std::size_t>(rank)).entries;
    if (mistake.how == Errs::is_late) {
        const FlightEntry& own = entries.at(mistake.place);
        const int line = own.where.line;
        return {{FlightFault::slow, rank, own.collective_seq, line, line}};
    }
    const int other = rank == 0 ? 1 : 0;
    std::int64_t number = 1;
    for (; const auto theirs = collective_of(whole, other, "dp", number); ++number) {
        const auto own = collective_of(whole, rank, "dp", number);
        const int line = theirs->where.line;
        const bool is_waited_in = std::ranges::any_of(whole, [&](const FlightRecord& record) {
            const auto call = collective_of(whole, record.rank, "dp", number);
            return record.rank != rank && call && call->state == FlightState::started;
        });
        if (mistake.how == Errs::dies && is_waited_in) {
            return {{FlightFault::no_record, rank, number, line, 0}};
        }
        if (mistake.how != Errs::dies && !own) {
            const int newest = entries.empty() ? 0 : entries.back().where.line;
            return {{FlightFault::behind, rank, number, line, newest}};
        }
        if (mistake.how != Errs::dies && own->call != theirs->call) {
            const FlightFault fault =
                mistake.how == Errs::skips ? FlightFault::skipped : FlightFault::other_collective;
            return {{fault, rank, number, line, own->where.line}};
        }
    }
    return {};
}

inline void faults_in_drawn_runs() {
    on_ranks({1}, [](const Communicator&) {
        std::map<FlightFault, int> found;
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            Draw draw{seed};
            const int p = 3 + static_cast<int>(draw(3));
            Members groups;
            for (int rank = 0; rank < p; ++rank) {
                groups["dp"].push_back(rank);
            }
            Plan plan = drawn_plan(draw, p, groups);
            Mistake mistake{
                .how = static_cast<Errs>(draw(5)),
                .rank = static_cast<int>(draw(static_cast<std::size_t>(p)))};
            if (!draw_place(draw, plan, mistake)) {
                continue;
            }
            make_mistake(plan, mistake);
            const int late = mistake.how == Errs::is_late ? mistake.rank : -1;
            DrawnRun run(plan, seed, {late, mistake.place});
            while (run.step()) {
            }
            const std::vector<Found> expected = expected_of(run.records, mistake);
            std::vector<FlightRecord> records = run.records;
            if (mistake.how == Errs::dies) {
                records.erase(records.begin() + mistake.rank);
            }
            INFO("seed " << seed << text_of(records));
            const Comparison result = same_findings(diagnose(records), expected);
            REQUIRE(result);
            for (const Found& one : expected) {
                ++found[one.fault];
            }
        }
        for (const FlightFault fault :
             {FlightFault::skipped, FlightFault::other_collective, FlightFault::behind,
              FlightFault::no_record, FlightFault::slow}) {
            INFO("runs in which this had to be found: " << name_of(fault));
            CHECK(found[fault] >= 5);
        }
    });
}

}  // namespace dist::harness
