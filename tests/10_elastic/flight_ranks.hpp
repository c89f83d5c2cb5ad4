// Ranks that run: threads of a virtual time. Another thread dumps their recorders while they wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/10_elastic/flight_tracks.hpp"
#include "tests/harness/world/virtual_time.hpp"

namespace dist::harness {

using namespace std::chrono_literals;

/// A collective that did not end.
struct Hang : std::runtime_error {
    Hang() : std::runtime_error("hang") {}
};

class RunningRanks {
  public:
    VirtualTime time;

    RunningRanks(int p, std::uint64_t seed, const Members& groups) : time(seed), groups_(groups) {
        for (int rank = 0; rank < p; ++rank) {
            const Ms skew(86'400'000 * ((rank * 5) % 7 - 3));
            clocks_.push_back(std::make_unique<VirtualClock>(time, skew));
            recorders_.push_back(std::make_unique<FlightRecorder>(rank, 64, *clocks_.back()));
            for (const auto& [name, members] : groups) {
                if (std::ranges::count(members, rank) > 0) {
                    recorders_.back()->add_group(name, members);
                }
            }
        }
    }

    FlightRecorder& recorder(int rank) { return *recorders_.at(static_cast<std::size_t>(rank)); }

    /// Calls a collective, and waits for its end.
    void call(int rank, char letter, const std::string& group = "dp") {
        finish(rank, group, schedule(rank, letter, group));
    }

    std::int64_t schedule(int rank, char letter, const std::string& group = "dp") {
        const Letter& what = letters().at(letter);
        return recorder(rank).schedule(group, what.call, {"train.cpp", what.line});
    }

    /// It ends when all members have come, whatever they call; after 10 s it is a Hang.
    void finish(int rank, const std::string& group, std::int64_t id) {
        recorder(rank).start(id);
        std::map<int, int>& came = came_[group];
        const int number = ++came[rank];
        const auto has_come = [&](int member) { return came[member] >= number; };
        while (!std::ranges::all_of(groups_.at(group), has_come)) {
            if (time.now() > 10s) {
                throw Hang();
            }
            time.sleep(50ms);
        }
        recorder(rank).complete(id);
    }

  private:
    Members groups_;
    std::vector<std::unique_ptr<VirtualClock>> clocks_;
    std::vector<std::unique_ptr<FlightRecorder>> recorders_;
    std::map<std::string, std::map<int, int>> came_;  // by group and rank: how often
};

/// A job: what each thread of each rank does.
struct LiveJob {
    std::string what;
    int p = 0;
    std::vector<std::function<void(RunningRanks& ranks, int rank)>> threads = {};
    std::vector<Found> expected = {};
    std::set<int> leave_none = {};  // ranks that leave no record
    Members groups = {};            // none: all are in "dp"
};

/// Runs it, dumps after 8 s, and diagnoses what can be read from the texts.
inline Comparison diagnosed(const LiveJob& job, std::uint64_t seed) {
    Members groups = job.groups;
    for (int rank = 0; job.groups.empty() && rank < job.p; ++rank) {
        groups["dp"].push_back(rank);
    }
    RunningRanks ranks(job.p, seed, groups);
    std::vector<std::function<void()>> plots;
    for (int rank = 0; rank < job.p; ++rank) {
        for (const auto& thread : job.threads) {
            plots.emplace_back([&ranks, &thread, rank] { thread(ranks, rank); });
        }
    }
    std::vector<FlightRecord> records;
    plots.emplace_back([&] {
        ranks.time.sleep(8s);
        for (int rank = 0; rank < job.p; ++rank) {
            if (!job.leave_none.contains(rank)) {
                records.push_back(FlightRecord::from(ranks.recorder(rank).dump().text()));
            }
        }
    });
    for (const std::string& end : ranks.time.run(plots)) {
        if (!end.empty() && end != Hang().what()) {
            return {false, "a rank ends with: " + end};
        }
    }
    Comparison result = same_findings(diagnose(records), job.expected);
    result.text += text_of(records);
    return result;
}

/// Steps of a training: all_reduce, broadcast, all_gather. `before` comes before each, and says
/// whether the rank calls it.
inline std::function<void(RunningRanks&, int)> steps(
    const std::function<bool(RunningRanks& ranks, int rank, int step, char letter)>& before
) {
    return [before](RunningRanks& ranks, int rank) {
        for (int step = 1; step <= 4; ++step) {
            for (const char letter : {'A', 'B', 'C'}) {
                if (before(ranks, rank, step, letter)) {
                    ranks.call(rank, letter);
                }
            }
        }
    };
}

inline std::vector<LiveJob> live_jobs() {
    const auto is = [](int rank, int step, char letter, int r, int s, char l) {
        return rank == r && step == s && letter == l;
    };
    return {
        {"all is well", 4, {steps([](auto&, int, int, char) { return true; })}},
        {"rank 2 leaves the broadcast of step 3 out",
         4,
         {steps([=](auto&, int r, int s, char l) { return !is(r, s, l, 2, 3, 'B'); })},
         {{FlightFault::skipped, 2, 8, 20, 30}}},
        {"rank 1 calls a barrier before the broadcast of step 3",
         4,
         {steps([=](auto& ranks, int r, int s, char l) {
             if (is(r, s, l, 1, 3, 'B')) {
                 ranks.call(r, 'E');
             }
             return true;
         })},
         {{FlightFault::other_collective, 1, 8, 20, 50}}},
        {"rank 1 stands still before the all_gather of step 2",
         4,
         {steps([=](auto& ranks, int r, int s, char l) {
             if (is(r, s, l, 1, 2, 'C')) {
                 ranks.time.sleep(1h);
             }
             return true;
         })},
         {{FlightFault::behind, 1, 6, 30, 20}}},
        {"rank 0 computes for 3 s before the all_reduce of step 2",
         4,
         {steps([=](auto& ranks, int r, int s, char l) {
             if (is(r, s, l, 0, 2, 'A')) {
                 ranks.time.sleep(3s);
             }
             return true;
         })},
         {{FlightFault::slow, 0, 4, 10, 10}}},
        {"rank 3 dies before the broadcast of step 2, and leaves no record",
         4,
         {steps([=](auto&, int r, int s, char l) {
             if (is(r, s, l, 3, 2, 'B')) {
                 throw Hang();
             }
             return true;
         })},
         {{FlightFault::no_record, 3, 5, 20, 0}},
         {3}},
        {"two ranks take two groups in different orders",
         2,
         {[](RunningRanks& ranks, int rank) {
             ranks.call(rank, 'A', rank == 0 ? "a" : "b");
             ranks.call(rank, 'C', rank == 0 ? "b" : "a");
         }},
         {{FlightFault::behind, 1, 1, 10, 10, "a"}, {FlightFault::behind, 0, 1, 10, 10, "b"}},
         {},
         {{"a", {0, 1}}, {"b", {0, 1}}}},
        {"the background thread of rank 1 stands still, with two collectives scheduled",
         2,
         {[](RunningRanks& ranks, int rank) {
              ranks.schedule(rank, 'A');
              ranks.schedule(rank, 'D');
          },
          [](RunningRanks& ranks, int rank) {
              ranks.time.sleep(rank == 1 ? Ms(1h) : Ms(1s));
              ranks.finish(rank, "dp", 1);
              ranks.finish(rank, "dp", 2);
          }},
         {{FlightFault::behind, 1, 1, 10, 40}}},
        {"each rank takes itself for the root",
         2,
         {[](RunningRanks& ranks, int rank) { ranks.call(rank, rank == 0 ? 'B' : 'b'); }},
         {{FlightFault::no_majority, 0, 1, 0, 20}, {FlightFault::no_majority, 1, 1, 0, 21}}},
    };
}

inline void running_ranks() {
    on_ranks({1}, [](const Communicator&) {
        for (const LiveJob& job : live_jobs()) {
            for (std::uint64_t seed = 0; seed < 3; ++seed) {
                INFO(job.what << "; seed " << seed);
                const Comparison result = diagnosed(job, seed);
                REQUIRE(result);
            }
        }
    });
}

}  // namespace dist::harness
