// What a monitored barrier must do: all leave it, or each that came names the same ranks that are missing. Ranks are threads of
// a virtual time, so a timeout costs none; at the end they are processes, and a real one dies.
#include "exercises/10_elastic/monitored_barrier.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Ranks = std::vector<int>;

constexpr Ms kTimeout = 200ms;
constexpr Ms kSoon = 25ms;  // two sleeps, and a bit

struct BarrierPlace : Place {
    using Place::Place;
    MonitoredBarrier barrier{transport, 7, clock};
};

/// A call of wait(): not before that time.
struct Call {
    Ms at{0};
    bool wait_all_ranks = false;
    Ms timeout = kTimeout;
};

std::string names(const Ranks& missing) {
    return missing.empty() ? "leaves" : text("names ranks: ", missing);
}

/// How a call ended.
struct Ended {
    Ms came{-1};
    Ms ended{-1};
    std::string how = "does not end";
};

/// The calls of all ranks of a world, and how they ended.
class Scene {
  public:
    /// calls  by rank; a rank that makes none does not come.
    Scene(World& world, const std::vector<std::vector<Call>>& calls) : ended_(calls.size()) {
        for (std::size_t rank = 0; rank < calls.size(); ++rank) {
            ended_[rank].resize(calls[rank].size());
        }
        world.play<BarrierPlace>([&](BarrierPlace& me) {
            const auto rank = static_cast<std::size_t>(me.rank);
            for (std::size_t number = 0; number < calls[rank].size(); ++number) {
                const Call& planned = calls[rank][number];
                me.sleep_until(planned.at);
                me.clock.late = 2ms * (me.rank % 2);  // sleeps take longer than they should
                Ended& one = ended_[rank][number];
                one.came = me.now();
                try {
                    me.barrier.wait(planned.timeout, planned.wait_all_ranks);
                    one.how = names({});
                } catch (const MissingRanks& error) {
                    one.how = names(error.ranks());
                }
                one.ended = me.now();
            }
        });
    }

    [[nodiscard]] const Ended& call(int rank, std::size_t number) const {
        return ended_.at(static_cast<std::size_t>(rank)).at(number);
    }

    /// Whether these ranks miss those, or leave where those are none: at that time, or soon after.
    [[nodiscard]] Comparison miss(
        const Ranks& ranks, const Ranks& missing, Ms when, std::size_t number = 0
    ) const {
        for (const int rank : ranks) {
            const Ended& one = call(rank, number);
            const bool is_soon = when <= one.ended && one.ended <= when + kSoon;
            if (one.how != names(missing) || !is_soon) {
                const std::string got =
                    text("rank ", rank, ", call ", number + 1, ": it ", one.how);
                const std::string right = text(names(missing), " at ", when);
                return {false, text(got, " at ", one.ended, ". Right is: it ", right)};
            }
        }
        return {};
    }

    /// Whether all ranks, except one that dies, leave that call when the last one has come: not before, and soon.
    [[nodiscard]] Comparison all_leave(std::size_t number = 0, int dead = -1) const {
        Ranks ranks;
        Ms last{0};
        for (int rank = 0; rank < std::ssize(ended_); ++rank) {
            last = std::max(last, call(rank, number).came);
            if (rank != dead) {
                ranks.push_back(rank);
            }
        }
        return miss(ranks, {}, last, number);
    }

  private:
    std::vector<std::vector<Ended>> ended_;  // by rank
};

}  // namespace

TEST_CASE("monitored_barrier: nobody leaves before all have come, whoever comes last") {
    for (int last = 0; last < 5; ++last) {
        for (int p = last + 1; p <= 5; ++p) {
            INFO("rank " << last << " comes last");
            worlds({p}, [&](World& world) {
                std::vector<std::vector<Call>> calls;
                for (int rank = 0; rank < p; ++rank) {
                    calls.push_back({{.at = rank == last ? 100ms : 10ms * rank}});
                }
                const Scene scene(world, calls);
                REQUIRE(scene.all_leave());
            });
        }
    }
}

TEST_CASE("monitored_barrier costs a message from each rank to rank 0, and one back") {
    worlds({1, 2, 3, 5, 8}, [](World& world) {
        const int p = world.size();
        std::vector<std::vector<Call>> calls;
        for (int rank = 0; rank < p; ++rank) {
            calls.push_back({{.at = 10ms * ((3 * rank) % p)}});
        }
        const Scene scene(world, calls);
        REQUIRE(scene.all_leave());
        for (int src = 0; src < p; ++src) {
            for (int dst = 0; dst < p; ++dst) {
                INFO("messages from rank " << src << " to rank " << dst);
                const long expected = src != dst && (src == 0 || dst == 0) ? 1 : 0;
                REQUIRE(world.edge(src, dst).messages == expected);
            }
        }
    });
}

TEST_CASE(
    "monitored_barrier: all that came name exactly those that did not, when rank 0's timeout is "
    "over"
) {
    for (unsigned set = 1; set < 16; ++set) {
        worlds({5}, [&](World& world) {
            Ranks missing;
            Ranks there = {0};
            std::vector<std::vector<Call>> calls = {{{.at = 30ms, .wait_all_ranks = set % 2 == 0}}};
            for (int rank = 1; rank < 5; ++rank) {
                const bool comes = (set >> (rank - 1) & 1U) == 0;
                (comes ? there : missing).push_back(rank);
                calls.emplace_back(comes ? 1 : 0, Call{.at = 20ms * rank});
            }
            INFO("ranks that do not come: " << text(missing));
            const Scene scene(world, calls);
            REQUIRE(scene.miss(there, missing, 230ms));
        });
    }
}

TEST_CASE("monitored_barrier: the timeout is one for all ranks together") {
    worlds({4}, [](World& world) {
        const Scene scene(world, {{{}}, {{.at = 150ms}}, {{.at = 300ms}}, {}});
        CHECK(scene.miss({0, 1}, {2, 3}, 200ms));
    });
}

TEST_CASE("monitored_barrier: rank 0 looks before it asks for the time") {
    worlds({3}, [](World& world) {
        const Scene scene(world, {{{.at = 50ms, .timeout = 0ms}}, {{}}, {{}}});
        CHECK(scene.all_leave());
    });
}

TEST_CASE(
    "monitored_barrier: ranks wait for a late rank 0 for one timeout, and for its decision for "
    "another one"
) {
    worlds({3}, [](World& world) {
        const Scene scene(world, {{{.at = 180ms}}, {{}}, {}});
        CHECK(scene.miss({1, 0}, {2}, 380ms));
    });
}

TEST_CASE("monitored_barrier: ranks that hear nothing of rank 0 for two timeouts miss it") {
    worlds({3}, [](World& world) {
        const Scene scene(world, {{}, {{}}, {{.at = 100ms}}});
        CHECK(scene.miss({1}, {0}, 400ms));
        CHECK(scene.miss({2}, {0}, 500ms));
    });
}

TEST_CASE("monitored_barrier: rank 0 that comes too late does not leave alone, and then all meet") {
    for (const Ms next : {420ms, 470ms}) {
        INFO("rank 0 comes at 450 ms, and the others come again at " << text(next));
        worlds({3}, [&](World& world) {
            const Call late = {.at = 450ms, .wait_all_ranks = world.seed % 2 == 1};
            const Scene scene(
                world, {{late, {.at = 460ms}}, {{}, {.at = next}}, {{}, {.at = next}}}
            );
            CHECK(scene.miss({1, 2}, {0}, 400ms));
            CHECK(scene.miss({0}, {1, 2}, 450ms));
            CHECK(scene.all_leave(1));
        });
    }
}

TEST_CASE("monitored_barrier: a rank that comes too late does not count as come to the next call") {
    worlds({3}, [](World& world) {
        const Scene scene(
            world, {{{}, {.at = 240ms}}, {{}, {.at = 230ms}}, {{.at = 250ms}, {.at = 320ms}}}
        );
        CHECK(scene.miss({0, 1}, {2}, 200ms));
        CHECK(scene.all_leave(1));
    });
}

TEST_CASE("monitored_barrier: a rank that comes too late hears at once which were missing") {
    worlds({4}, [](World& world) {
        const Scene scene(world, {{{}}, {{}}, {{.at = 250ms}}, {{.at = 150ms}}});
        CHECK(scene.miss({0, 1, 3}, {2}, 200ms));
        CHECK(scene.miss({2}, {2}, 250ms));
    });
}

TEST_CASE("monitored_barrier: a rank that dies, before it came or after, is missing at once") {
    for (const std::size_t calls : {0, 1}) {
        INFO("rank 2 dies at 60 ms, when it has made so many calls: " << calls);
        worlds({4}, [&](World& world) {
            world.dies[2] = 60ms;
            const Scene scene(world, {{{}}, {{}}, std::vector<Call>(calls), {{.at = 100ms}}});
            CHECK(scene.miss({0, 1}, {2}, 60ms));
            CHECK(scene.miss({3}, {2}, 100ms));
        });
    }
}

TEST_CASE(
    "monitored_barrier: with wait_all_ranks all others are waited for, and all missing ones named"
) {
    constexpr Call kAll{.wait_all_ranks = true};
    constexpr Call kLast{.at = 100ms, .wait_all_ranks = true};
    for (const bool both_die : {true, false}) {
        worlds({5}, [&](World& world) {
            world.dies[3] = 60ms;
            if (both_die) {
                world.dies[1] = 70ms;  // then no other can come
            }
            const Scene scene(world, {{kAll}, {}, {kAll}, {}, {kLast}});
            CHECK(scene.miss({0, 2, 4}, {1, 3}, both_die ? 100ms : 200ms));
        });
    }
}

TEST_CASE("monitored_barrier: rank 0 is missing at once when it has died") {
    worlds({3}, [](World& world) {
        world.dies[0] = 60ms;
        const Scene scene(world, {{{}, {}}, {{}, {.at = 100ms}}, {{.at = 80ms}}});
        CHECK(scene.miss({1}, {0}, 60ms));
        CHECK(scene.miss({2}, {0}, 80ms));
        CHECK(scene.miss({1}, {0}, 100ms, 1));
    });
}

TEST_CASE("monitored_barrier: a rank that dies while rank 0 lets all go keeps nobody back") {
    worlds({4}, [](World& world) {
        world.before = [&](int rank, std::string_view call, int, std::size_t) {
            if (rank == 0 && call == "isend") {
                world.kill(1);
            }
        };
        const Scene scene(
            world, {{{}, {.at = 50ms}}, {{}}, {{}, {.at = 50ms}}, {{}, {.at = 50ms}}}
        );
        CHECK(scene.all_leave(0, 1));
        CHECK(scene.miss({0, 2, 3}, {1}, 50ms, 1));
    });
}

TEST_CASE("monitored_barrier: a rank that takes no message keeps nobody back") {
    worlds({4}, [](World& world) {
        world.edge(0, 2).is_full = true;
        const Scene scene(world, {{{}}, {{}}, {}, {{.at = 100ms}}});
        CHECK(scene.miss({0, 1, 3}, {2}, 200ms));
    });
    worlds({3}, [](World& world) {
        world.edge(1, 0).is_full = true;
        const Scene scene(world, {{}, {{}}, {{}}});
        CHECK(scene.miss({1, 2}, {0}, 400ms));
    });
}

TEST_CASE("monitored_barrier leaves at most one receive posted for each rank that it waits for") {
    worlds({3}, [](World& world) {
        const auto at = [](int number) { return Call{.at = 500ms * number}; };
        const Scene scene(
            world, {{at(0), at(1), at(2), at(3), at(4), at(5)},
                    {at(0), at(1), at(2), at(3), at(4), at(5), at(6)},
                    {at(0), at(3)}}
        );
        for (int rank = 1; rank < 3; ++rank) {
            INFO("receives that ranks 0 and " << rank << " have posted for each other");
            CHECK(world.edge(rank, 0).posted.size() <= 1);
            CHECK(world.edge(0, rank).posted.size() <= 1);
        }
    });
}

TEST_CASE("monitored_barrier on processes: all leave; then one is killed, and the others name it") {
    on_one([] {
        const Processes run = on_transport(
            3,
            [](Transport& transport, int rank, int) {
                SteadyClock clock;
                MonitoredBarrier barrier(transport, 3, clock);
                barrier.wait(std::chrono::hours(1));
                if (rank == 2) {
                    raise(SIGKILL);
                }
                CHECK(error_has({"missing ranks: 2"}, [&] { barrier.wait(std::chrono::hours(1)); })
                );
            },
            {2}
        );
        CHECK(run.died[2] == "killed by SIGKILL");
        CHECK(run.passed);
    });
}
