// What a failure detector must see, and what it must not take for a death. Ranks are threads of a virtual time, in which the test
// stops, kills and delays them; at the end they are processes, and one is stopped.
#include "exercises/10_elastic/heartbeat.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using enum Health;

constexpr std::uint32_t kGroup = 7;
constexpr Ms kInterval = 100ms;

// From one look to the next. Rank r looks at r, r + 10, r + 20, ... ms, and beats at r, r + 100, r + 200, ... ms. What happens to
// ranks happens between looks.
constexpr Ms kLook = 10ms;

HeartbeatSettings with_misses(int misses) {
    return {.interval = kInterval, .misses = misses, .max_lag = 10};
}

std::string words(Health health) {
    const char* const all[] = {"alive", "straggler", "suspected", "dead"};
    return all[static_cast<int>(health)];
}

std::string words(const RankHealth& one) {
    return text(
        words(one.health), one.step ? text(", step ", *one.step) : ", no step", ", silent for ",
        one.silence
    );
}

/// From when on a rank is taken for what. Each begins as alive.
using Changes = std::vector<std::pair<Ms, Health>>;

std::string words(const Changes& changes) {
    std::string all = "alive";
    for (const auto& [at, health] : changes) {
        all += text(", ", words(health), " from ", at, " on");
    }
    return all;
}

/// By who looks, and at whom.
using Story = std::map<std::pair<int, int>, Changes>;

struct Looker : Place {
    using Place::Place;
    std::unique_ptr<Heartbeat> heartbeat = {};
};

/// Ranks that look at each other, and what each takes the others for.
class Scene {
  public:
    struct Rank {
        Looker* place = nullptr;
        std::int64_t step = 0;              // that it has reached
        Ms every = kLook;                   // it looks once in so much time
        bool is_stopped = false;            // as after SIGSTOP. Its connections stay
        std::vector<RankHealth> last = {};  // what it took all for when it last looked
    };

    explicit Scene(World& its_world, const HeartbeatSettings& settings = with_misses(3))
        : world(its_world), ranks(static_cast<std::size_t>(world.size())), settings_(settings) {
        world.buffered = true;
        world.patience = 1h;
        world.before = [](int, std::string_view call, int, std::size_t bytes) {
            must(call != "isend" || bytes <= 64, "a heartbeat has ", bytes, " bytes");
        };
    }

    World& world;
    std::vector<Rank> ranks;

    /// All ranks look until then. The script is what happens meanwhile.
    void play(Ms end, const std::function<void()>& script) {
        world.meanwhile = [&] {
            script();
            at(end);
            is_over_ = true;
        };
        world.play<Looker>([&](Looker& me) { live(me); });
    }

    /// Waits until then.
    Scene& at(Ms time) {
        world.time.sleep(time - world.time.now());
        return *this;
    }

    /// What `rank` took `other` for when it last looked.
    [[nodiscard]] std::string last(int rank, int other) const {
        return words(ranks[rank].last.at(static_cast<std::size_t>(other)));
    }

    /// Whether that is what all have seen. A rank that is not in `right` was alive all the time.
    [[nodiscard]] Comparison is(Story right) const {
        for (const auto& [pair, changes] : story_) {
            if (changes != right[pair]) {
                return {
                    false, text(
                               "rank ", pair.first, " takes rank ", pair.second, " for ",
                               words(changes), ". It has to take it for ", words(right[pair])
                           )};
            }
        }
        return {};
    }

  private:
    void live(Looker& me) {
        Rank& mine = ranks[me.rank];
        mine.place = &me;
        me.clock.skew = 24h * 365 * (me.rank % 3 - 1);
        me.heartbeat = std::make_unique<Heartbeat>(me.transport, kGroup, me.clock, settings_);
        me.sleep_until(Ms(me.rank));
        while (!is_over_) {
            if (!mine.is_stopped) {
                look(me, mine);
            }
            me.sleep(mine.every - (me.now() - Ms(me.rank)) % mine.every);
        }
    }

    void look(Looker& me, Rank& mine) {
        const Ms begun = me.now();
        const std::size_t sleeps = me.clock.sleeps.size();
        mine.last = me.heartbeat->look(mine.step);
        must(me.now() == begun && me.clock.sleeps.size() == sleeps, "look() waits or sleeps");
        must(std::ssize(mine.last) == me.p, "look() does not return one RankHealth for each rank");
        for (int other = 0; const RankHealth& one : mine.last) {
            Changes& changes = story_[{me.rank, other++}];
            if (one.health != (changes.empty() ? alive : changes.back().second)) {
                changes.emplace_back(me.now(), one.health);
            }
        }
    }

    HeartbeatSettings settings_;
    Story story_;
    bool is_over_ = false;
};

}  // namespace

TEST_CASE(
    "heartbeat: a rank that stands still is suspected after so many intervals, on clocks that are "
    "years apart"
) {
    for (const int misses : {2, 5}) {
        worlds({2, 3, 5}, [&](World& world) {
            const int stopped = static_cast<int>(world.seed) % world.size();
            INFO("misses: " << misses << "; rank " << stopped << " stands still from 255 ms on");
            Scene scene(world, with_misses(misses));
            scene.play(1255ms, [&] { scene.at(255ms).ranks[stopped].is_stopped = true; });
            Story right;
            for (int rank = 0; rank < world.size(); ++rank) {
                const Ms heard = 200ms + Ms(rank) + (rank > stopped ? 0ms : kLook);
                right[{rank, stopped}] = {{heard + misses * kInterval, suspected}};
            }
            right.erase({stopped, stopped});
            REQUIRE(scene.is(right));
        });
    }
}

TEST_CASE("heartbeat: late and jittering messages, fewer than one an interval, are no silence") {
    worlds({4}, [](World& world) {
        Scene scene(world);
        scene.play(6s, [&] {
            for (int i = 0; i < 960; ++i) {
                const Ms late(seeded_bits(world.seed, static_cast<std::uint64_t>(i)) % 191);
                scene.at(i / 16 * kInterval).world.edge(i / 4 % 4, i % 4).delay = late;
            }
        });
        CHECK(scene.is({}));
    });
}

TEST_CASE("heartbeat: a rank that is heard again is alive again, at that look, each time") {
    worlds({3}, [](World& world) {
        Scene scene(world);
        scene.play(1805ms, [&] {
            scene.at(255ms).ranks[2].is_stopped = true;
            scene.at(1000ms).ranks[2].is_stopped = false;  // looks at 1002 ms, and beats
            scene.at(1305ms).ranks[2].is_stopped = true;
        });
        for (int i = 0; i < 9; ++i) {
            INFO("receives that rank " << i % 3 << " has posted for rank " << i / 3);
            const auto& posted = world.edge(i / 3, i % 3).posted;
            CHECK(posted.size() <= 1);
            CHECK(std::ranges::all_of(posted, [](const auto& one) { return one.group == kGroup; }));
        }
        CHECK(scene.is(
            {{{0, 2}, {{510ms, suspected}, {1010ms, alive}, {1610ms, suspected}}},
             {{1, 2}, {{511ms, suspected}, {1011ms, alive}, {1611ms, suspected}}}}
        ));
    });
}

TEST_CASE("heartbeat: a process that stood still takes no other for dead") {
    for (const int misses : {2, 3}) {
        INFO("misses: " << misses << "; at 555 ms all processes stand still for 10 s");
        worlds({4}, [&](World& world) {
            Scene scene(world, with_misses(misses));
            scene.play(11'555ms, [&] {
                for (const bool is_stopped : {true, false}) {
                    scene.at(is_stopped ? 555ms : 10'555ms);
                    for (Scene::Rank& rank : scene.ranks) {
                        rank.is_stopped = is_stopped;
                    }
                }
            });
            REQUIRE(scene.is({}));
        });
    }
}

TEST_CASE("heartbeat: what has come while a process stood still is taken at its first look") {
    worlds({2}, [](World& world) {
        Scene scene(world);
        scene.play(2765ms, [&] {
            scene.at(255ms).ranks[0].is_stopped = true;
            scene.at(2155ms).ranks[1].step = 5;
            scene.at(2255ms).ranks[1].is_stopped = true;  // just before rank 0 goes on
            scene.ranks[0].is_stopped = false;
            scene.at(2265ms);
            must_be(scene.last(0, 1), "alive, step 5, silent for 0 ms", "rank 1 to rank 0");
        });
        CHECK(scene.is({{{0, 1}, {{2560ms, suspected}}}, {{1, 0}, {{501ms, suspected}}}}));
    });
}

TEST_CASE("heartbeat: a clock that jumps makes no rank look dead, and the beats go on") {
    for (const Ms jump : {Ms(1h), Ms(-1h), Ms(24h * 365)}) {
        INFO("at 505 ms the clock of rank 0 jumps by " << jump / 1s << " s");
        worlds({3}, [&](World& world) {
            Scene scene(world);
            scene.play(1955ms, [&] {
                scene.at(505ms).ranks[0].place->clock.skew += jump;
                scene.at(1255ms).ranks[2].is_stopped = true;  // a silence is seen all the same
            });
            REQUIRE(scene.is({{{0, 2}, {{1510ms, suspected}}}, {{1, 2}, {{1511ms, suspected}}}}));
        });
    }
}

TEST_CASE("heartbeat: where one way is cut, one side suspects, and the other one does not") {
    worlds({2}, [](World& world) {
        Scene scene(world);
        scene.play(1755ms, [&] { scene.at(255ms).world.edge(1, 0).delay = 1s; });
        CHECK(scene.is({{{0, 1}, {{510ms, suspected}, {1310ms, alive}}}}));
    });
}

TEST_CASE("heartbeat: a connection that has ended is a death known at once, and for good") {
    worlds({4}, [](World& world) {
        Scene scene(world);
        scene.play(1205ms, [&] {
            scene.at(255ms).ranks[3].is_stopped = true;
            scene.at(295ms).ranks[2].step = 9;
            scene.at(305ms).world.kill(2);  // after its last beat
            scene.at(505ms);
            must_be(scene.last(0, 2), "dead, step 9, silent for 190 ms", "rank 2 to rank 0");
            scene.at(705ms).world.kill(3);  // suspected before
        });
        CHECK(scene.is({
            {{0, 2}, {{310ms, dead}}},
            {{1, 2}, {{311ms, dead}}},
            {{0, 3}, {{510ms, suspected}, {710ms, dead}}},
            {{1, 3}, {{511ms, suspected}, {711ms, dead}}},
        }));
        INFO("heartbeats that rank 0 has begun to send to rank 2, which died at 305 ms");
        CHECK(world.edge(0, 2).messages == 4);
    });
}

TEST_CASE("heartbeat: a straggler is more than max_lag steps behind, until it has caught up") {
    for (const auto& [max_lag, lag] : {std::pair{10, 10}, {10, 11}, {0, 0}, {0, 1}}) {
        INFO("ranks 0 and 1 are " << lag << " steps ahead; max_lag is " << max_lag);
        HeartbeatSettings settings = with_misses(3);
        settings.max_lag = max_lag;
        worlds({3}, [&](World& world) {
            Scene scene(world, settings);
            scene.play(955ms, [&] {
                scene.at(455ms).ranks[0].step = lag;
                scene.ranks[1].step = lag;
                scene.at(755ms).ranks[2].step = 1;
            });
            const Story behind = {
                {{0, 2}, {{510ms, straggler}, {810ms, alive}}},
                {{1, 2}, {{501ms, straggler}, {811ms, alive}}},
                {{2, 2}, {{502ms, straggler}, {762ms, alive}}},
            };
            REQUIRE(scene.is(lag > max_lag ? behind : Story{}));
        });
    }
}

TEST_CASE("heartbeat: a straggler beats, and is told from a rank that stands still") {
    worlds({4}, [](World& world) {
        Scene scene(world);
        scene.play(605ms, [&] {
            for (int round = 0; round < 6; ++round) {
                scene.at(55ms + round * kInterval);
                for (int rank = 0; rank < 4; ++rank) {
                    scene.ranks[rank].step += rank == 3 ? 1 : 4;
                }
                scene.ranks[2].is_stopped = round >= 2;  // it has said step 8
            }
        });
        CHECK(scene.is({
            {{0, 2}, {{510ms, suspected}}},
            {{1, 2}, {{501ms, straggler}, {511ms, suspected}}},
            {{3, 2}, {{503ms, suspected}}},
            {{0, 3}, {{410ms, straggler}}},
            {{1, 3}, {{401ms, straggler}}},
            {{3, 3}, {{403ms, straggler}}},
        }));
    });
}

TEST_CASE("heartbeat: a rank that runs ahead makes no stragglers of two or more others") {
    worlds({2, 3, 4, 5}, [](World& world) {
        Scene scene(world);
        scene.play(955ms, [&] { scene.at(455ms).ranks[1].step = 1000; });
        const Story of_two = {{{0, 0}, {{510ms, straggler}}}, {{1, 0}, {{461ms, straggler}}}};
        REQUIRE(scene.is(world.size() == 2 ? of_two : Story{}));
    });
}

TEST_CASE("heartbeat: the steps of ranks that are suspected or dead do not count") {
    for (const bool die : {false, true}) {
        INFO("ranks 3 and 4 " << (die ? "die" : "stand still") << " at 255 ms");
        worlds({5}, [&](World& world) {
            Scene scene(world);
            scene.play(755ms, [&] {
                scene.at(155ms);
                for (const auto& [rank, step] : {std::pair{0, 11}, {1, 11}, {3, 6}, {4, 6}}) {
                    scene.ranks[rank].step = step;  // rank 2 is 6 behind the median
                }
                scene.at(255ms);
                for (const int rank : {3, 4}) {
                    scene.ranks[rank].is_stopped = true;
                    if (die) {
                        world.kill(rank);
                    }
                }
            });
            Story right;
            for (const int rank : {0, 1, 2}) {
                const Ms at = Ms(rank) + (die ? 260ms : 510ms);
                right[{rank, 2}] = {{at, straggler}};  // the median is 11
                right[{rank, 3}] = right[{rank, 4}] = {{at, die ? dead : suspected}};
            }
            REQUIRE(scene.is(right));
        });
    }
}

TEST_CASE(
    "heartbeat: a rank that has said nothing yet is no straggler, and suspected if it never does"
) {
    worlds({3}, [](World& world) {
        Scene scene(world);
        for (Scene::Rank& rank : scene.ranks) {
            rank.step = 1000;  // a run that goes on from a snapshot
        }
        scene.ranks[2].is_stopped = true;
        scene.play(695ms, [&] {
            scene.at(195ms);
            must_be(scene.last(0, 2), "alive, no step, silent for 190 ms", "rank 2 to rank 0");
        });
        CHECK(scene.is({{{0, 2}, {{300ms, suspected}}}, {{1, 2}, {{301ms, suspected}}}}));
    });
}

TEST_CASE("heartbeat costs a message from each rank to each other one in an interval") {
    for (const auto& [every, period] : {std::pair{10ms, 100ms}, {30ms, 120ms}, {250ms, 250ms}}) {
        INFO("all look every " << text(every));
        worlds({1, 2, 3, 5}, [&](World& world) {
            Scene scene(world);
            for (Scene::Rank& rank : scene.ranks) {
                rank.every = every;
            }
            scene.play(995ms, [] {});
            REQUIRE(scene.is({}));
            for (int i = 0; i < world.size() * world.size(); ++i) {
                const int src = i / world.size();
                const int dst = i % world.size();
                std::vector<Ms> right;
                for (Ms at(src); src != dst && at < 995ms; at += period) {
                    right.push_back(at);
                }
                INFO("rank " << src << " begins heartbeats to rank " << dst);
                REQUIRE(text(world.edge(src, dst).begun) == text(right));
            }
        });
    }
}

TEST_CASE("heartbeat: a rank that takes no more messages holds no other up, and has one on its way"
) {
    worlds({3}, [](World& world) {
        Scene scene(world);
        scene.play(1565ms, [&] {
            scene.at(255ms).ranks[2].is_stopped = true;
            world.edge(0, 2).is_full = true;
            scene.ranks[0].step = 1;
            scene.at(755ms).ranks[0].step = 2;
            scene.at(1255ms);
            const std::size_t waiting = world.edge(0, 2).mail.size();
            must_be(
                waiting, 1U, "the number of heartbeats of rank 0 that have not left for rank 2"
            );
            world.open(0, 2);
            scene.ranks[2].is_stopped = false;
            scene.at(1265ms);
            must_be(scene.last(2, 0), "alive, step 1, silent for 0 ms", "rank 0 to rank 2");
        });
        CHECK(scene.is(
            {{{0, 2}, {{510ms, suspected}, {1270ms, alive}}},
             {{1, 2}, {{511ms, suspected}, {1271ms, alive}}}}
        ));
        CHECK(scene.ranks[2].last.at(0).step == 2);
        INFO("heartbeats of rank 0 to rank 1, which takes all");
        CHECK(world.edge(0, 1).messages == 16);
    });
}

TEST_CASE("heartbeat refuses settings that make no sense") {
    on_one([] {
        World world(2);
        WorldTransport transport(world, 0);
        WorldClock clock(world, 0);
        const auto made = [&](const HeartbeatSettings& settings) {
            return thrown_as([&] { const Heartbeat one(transport, kGroup, clock, settings); });
        };
        CHECK(made({.interval = 1ms, .misses = 2, .max_lag = 0}) == "nothing");
        CHECK(made({.interval = 0ms}) == kInvalidArgument);
        CHECK(made({.misses = 1}) == kInvalidArgument);
        CHECK(made({.max_lag = -1}) == kInvalidArgument);
    });
}

TEST_CASE("heartbeat on processes: one is stopped, and suspected; it goes on, and lives; it leaves"
) {
    on_one([] {
        const Processes run = on_transport(2, [](Transport& transport, int rank, int) {
            SteadyClock clock;
            Heartbeat heartbeat(transport, 3, clock, {.interval = 20ms, .misses = 3});
            const auto look = [&] {  // at the other one; rank 1 is behind
                clock.sleep(1ms);
                return heartbeat.look(rank == 0 ? 100 : 0).at(rank == 0 ? 1 : 0);
            };
            pid_t pid = getpid();
            const auto place = std::as_writable_bytes(std::span(&pid, 1));
            if (rank == 1) {
                while (!look().step) {
                }
                transport.send(place, 0, 9, 1);
                raise(SIGSTOP);
                INFO("the process that was stopped takes rank 0 for");
                CHECK(words(look()) == "alive, step 100, silent for 0 ms");
                transport.recv({}, 0, 9, 2);
                return;
            }
            const Request stops = transport.irecv(place, 1, 9, 1);
            while (!transport.test(stops)) {
                look();
            }
            while (look().health != suspected) {
            }
            do {  // again and again: it may not have come to its stop yet
                kill(pid, SIGCONT);
            } while (look().health != straggler);
            transport.send({}, 1, 9, 2);
            while (look().health != dead) {
            }
        });
        CHECK(run.passed);
    });
}
