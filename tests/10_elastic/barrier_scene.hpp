// Ranks that come to barriers at times that the test says, and how each call ended.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exercises/10_elastic/monitored_barrier.hpp"
#include "tests/10_elastic/barrier_network.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;
using Ranks = std::vector<int>;

inline constexpr Ms kTimeout = 200ms;
inline constexpr Ms kSoon = 25ms;  // two sleeps, and a bit

/// A call of wait(): not before that time.
struct Call {
    Ms at{0};
    bool wait_all_ranks = false;
    Ms timeout = kTimeout;
};

/// How a call ended.
struct Ended {
    Ms came{-1};
    Ms ended{-1};
    bool has_ended = false;
    Ranks missing = {};  // none: it left
};

inline std::string text_of(const Ranks& ranks) {
    std::string text;
    for (const int rank : ranks) {
        text += (text.empty() ? "" : ", ") + std::to_string(rank);
    }
    return ranks.empty() ? "none" : text;
}

inline std::string text_of(Ms time) {
    return std::to_string(time.count()) + " ms";
}

class Scene {
  public:
    std::vector<std::vector<Call>> calls;  // by rank; who makes none does not come
    std::map<int, Ms> dies;                // ranks, and when
    std::vector<std::vector<Ended>> ended;
    VirtualTime time;
    BarrierNetwork network;

    explicit Scene(int p, std::uint64_t seed = 1)
        : calls(static_cast<std::size_t>(p)), time(seed), network(time, p) {}

    [[nodiscard]] int size() const { return network.size(); }

    std::vector<Call>& calls_of(int rank) { return calls.at(static_cast<std::size_t>(rank)); }

    [[nodiscard]] const Ended& call(int rank, std::size_t number) const {
        return ended.at(static_cast<std::size_t>(rank)).at(number);
    }

    /// All calls. False if a rank ended otherwise than by leaving or by MissingRanks.
    Comparison play() {
        std::vector<std::function<void()>> plots;
        for (int rank = 0; rank < size(); ++rank) {
            ended.emplace_back(calls_of(rank).size());
            places_.push_back(std::make_unique<Place>(network, rank));
            plots.emplace_back([this, rank] { live(rank); });
        }
        for (const auto& [rank, when] : dies) {
            plots.emplace_back([this, rank = rank, when = when] {
                time.sleep(when);
                network.kill(rank);
            });
        }
        const std::vector<std::string> ends = time.run(plots);
        for (int rank = 0; rank < size(); ++rank) {
            const std::string& end = ends[static_cast<std::size_t>(rank)];
            if (!end.empty() && end != Killed().what()) {
                return {false, "rank " + std::to_string(rank) + ": " + end};
            }
        }
        return {};
    }

    /// Whether all ranks, but for one that dies, leave that call when the last one has come: not before, and soon.
    [[nodiscard]] Comparison all_leave(std::size_t number = 0, int dead = -1) const {
        Ms last{0};
        int who = 0;
        for (int rank = 0; rank < size(); ++rank) {
            if (call(rank, number).came > last) {
                last = call(rank, number).came;
                who = rank;
            }
        }
        for (int rank = 0; rank < size(); ++rank) {
            const Ended& one = call(rank, number);
            const std::string name = name_of(rank, number);
            if (rank == dead) {
                continue;
            }
            if (!one.has_ended) {
                return {false, name + " does not end"};
            }
            if (!one.missing.empty()) {
                return {false, name + " names ranks: " + text_of(one.missing) + ". All have come"};
            }
            if (one.ended < last || one.ended > last + kSoon) {
                return {
                    false, name + " leaves at " + text_of(one.ended) +
                               ". The last to come is rank " + std::to_string(who) + ", at " +
                               text_of(last)};
            }
        }
        return {};
    }

    /// Whether these ranks miss those, at that time or soon after.
    [[nodiscard]] Comparison miss(
        const Ranks& ranks, const Ranks& missing, Ms when, std::size_t number = 0
    ) const {
        for (const int rank : ranks) {
            const Ended& one = call(rank, number);
            const std::string name = name_of(rank, number);
            if (!one.has_ended) {
                return {false, name + " does not end"};
            }
            if (one.missing != missing) {
                const std::string what = one.missing.empty()
                                             ? " leaves at " + text_of(one.ended)
                                             : " names ranks: " + text_of(one.missing);
                return {false, name + what + ". It has to name ranks: " + text_of(missing)};
            }
            if (one.ended < when || one.ended > when + kSoon) {
                return {
                    false, name + " throws at " + text_of(one.ended) + ". It has to throw at " +
                               text_of(when) + ", and name ranks: " + text_of(missing)};
            }
        }
        return {};
    }

  private:
    struct Place {
        Place(BarrierNetwork& network, int rank) : transport(network, rank), clock(network, rank) {}

        BarrierTransport transport;
        BarrierClock clock;
        std::unique_ptr<MonitoredBarrier> barrier = {};
    };

    static std::string name_of(int rank, std::size_t number) {
        return "rank " + std::to_string(rank) + ", call " + std::to_string(number + 1) + ": it";
    }

    void live(int rank) {
        Place& place = *places_[static_cast<std::size_t>(rank)];
        place.barrier = std::make_unique<MonitoredBarrier>(place.transport, 7, place.clock);
        for (std::size_t number = 0; number < calls_of(rank).size(); ++number) {
            const Call& planned = calls_of(rank)[number];
            place.clock.sleep(std::max(planned.at - time.now(), 0ms));
            Ended& one = ended[static_cast<std::size_t>(rank)][number];
            one.came = time.now();
            try {
                place.barrier->wait(planned.timeout, planned.wait_all_ranks);
            } catch (const MissingRanks& error) {
                one.missing = error.ranks();
            }
            one.ended = time.now();
            one.has_ended = true;
        }
    }

    std::vector<std::unique_ptr<Place>> places_;  // by rank, until nothing moves any more
};

/// Runs `body` with several seeds: who goes on first where several could.
inline void with_seeds(const std::function<void(std::uint64_t seed)>& body) {
    on_ranks_each(
        {1}, [](int) { return 3; },
        [&](const Communicator&, std::size_t seed) {
            INFO("seed " << seed);
            body(seed);
        }
    );
}

}  // namespace dist::harness
