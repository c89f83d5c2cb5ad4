// What a failure detector must see, and what it must not take for a death. Ranks are threads of a virtual time, in which the test
// stops, kills and delays them; at the end they are processes, and one is stopped.
#include "exercises/10_elastic/heartbeat.hpp"

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
// ranks happens between looks, at 5 to 9 ms more than a multiple of 10 ms.
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

/// A rank is taken for something else from that look on.
struct Change {
    Ms at;
    Health to;

    bool operator==(const Change&) const = default;
};
using Changes = std::vector<Change>;

/// Each begins as alive.
std::string words(const Changes& changes) {
    std::string all = "alive";
    for (const Change& change : changes) {
        all += text(", ", words(change.to), " from ", change.at, " on");
    }
    return all;
}

/// By who looks, and at whom.
using Story = std::map<std::pair<int, int>, Changes>;

/// A rank of a world. Its transport ends before its Heartbeat does.
struct Looker : Place {
    Looker(World& its_world, int its_rank) : Place(its_world, its_rank) {
        clock.skew = std::chrono::hours(24 * 365) * (rank % 3 - 1);
    }
    ~Looker() override { line.reset(); }

    std::unique_ptr<WorldTransport> line = std::make_unique<WorldTransport>(world, rank);
    std::unique_ptr<Heartbeat> heartbeat = {};
};

/// Ranks that look at each other, and what each takes the others for.
class Scene {
  public:
    explicit Scene(World& world, const HeartbeatSettings& settings = with_misses(3))
        : world_(world), settings_(settings), ranks_(static_cast<std::size_t>(world.size())) {
        world.buffered = true;
        world.patience = 1h;
        world.before = [](int, std::string_view call, int, std::size_t bytes) {
            must(call != "isend" || bytes <= 64, "a heartbeat has ", bytes, " bytes");
        };
    }

    /// All ranks look until `script` is over: what happens meanwhile.
    void play(const std::function<void()>& script) {
        world_.meanwhile = [&] {
            script();
            is_over_ = true;
        };
        world_.play<Looker>([&](Looker& me) { live(me); });
    }

    void pass(Ms time) { world_.time.sleep(time); }

    /// It stands still until go_on(), as after SIGSTOP. Its connections stay.
    void stop(int rank) { ranks_[rank].is_stopped = true; }
    void go_on(int rank) { ranks_[rank].is_stopped = false; }

    /// It looks once in so much time.
    void looks_every(int rank, Ms time) { ranks_[rank].every = time; }

    Ms& skew(int rank) { return ranks_[rank].place->clock.skew; }
    std::int64_t& step(int rank) { return ranks_[rank].step; }
    void steps(const std::vector<std::int64_t>& all) {
        for (int rank = 0; rank < world_.size(); ++rank) {
            step(rank) = all[static_cast<std::size_t>(rank)];
        }
    }

    /// What `rank` took `other` for when it last looked.
    [[nodiscard]] const RankHealth& last(int rank, int other) {
        return ranks_[rank].last.at(static_cast<std::size_t>(other));
    }

    /// Whether that is what all have seen. A rank that is not in `right` was alive all the time.
    [[nodiscard]] Comparison is(const Story& right) const {
        for (const auto& [pair, changes] : story_) {
            const auto found = right.find(pair);
            const Changes expected = found == right.end() ? Changes{} : found->second;
            if (changes != expected) {
                const auto [rank, other] = pair;
                return {
                    false,
                    text(
                        "rank ", rank, " takes ", rank == other ? "itself" : text("rank ", other),
                        " for ", words(changes), ". It has to take it for ", words(expected)
                    )};
            }
        }
        return {};
    }

  private:
    struct Rank {
        Looker* place = nullptr;
        std::int64_t step = 0;  // that it has reached
        Ms every = kLook;
        bool is_stopped = false;
        std::vector<RankHealth> last = {};
    };

    void live(Looker& me) {
        Rank& mine = ranks_[me.rank];
        mine.place = &me;
        me.heartbeat = std::make_unique<Heartbeat>(*me.line, kGroup, me.clock, settings_);
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
        for (int other = 0; other < me.p; ++other) {
            Changes& changes = story_[{me.rank, other}];
            const Health was = changes.empty() ? alive : changes.back().to;
            if (const Health is = last(me.rank, other).health; is != was) {
                changes.push_back({me.now(), is});
            }
        }
    }

    World& world_;
    HeartbeatSettings settings_;
    std::vector<Rank> ranks_;
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
            scene.play([&] {
                scene.pass(255ms);
                scene.stop(stopped);
                scene.pass(1000ms);
            });
            Story right;
            for (int rank = 0; rank < world.size(); ++rank) {
                if (rank != stopped) {
                    const Ms heard = 200ms + Ms(rank) + (rank > stopped ? 0ms : kLook);
                    right[{rank, stopped}] = {{heard + misses * kInterval, suspected}};
                }
            }
            REQUIRE(scene.is(right));
        });
    }
}

TEST_CASE("heartbeat: late and jittering messages, fewer than one an interval, are no silence") {
    worlds({4}, [](World& world) {
        Scene scene(world);
        scene.play([&] {
            std::uint64_t drawn = 0;
            for (int round = 0; round < 60; ++round) {
                for (int i = 0; i < 16; ++i) {
                    world.edge(i / 4, i % 4).delay = Ms(seeded_bits(world.seed, drawn++) % 191);
                }
                scene.pass(kInterval);
            }
        });
        CHECK(scene.is({}));
    });
}

TEST_CASE("heartbeat: a rank that is heard again is alive again, at that look, each time") {
    worlds({3}, [](World& world) {
        Scene scene(world);
        scene.play([&] {
            scene.pass(255ms);
            scene.stop(2);
            scene.pass(745ms);
            scene.go_on(2);  // looks at 1002 ms, and beats from there on
            scene.pass(305ms);
            scene.stop(2);
            scene.pass(500ms);
        });
        for (int i = 0; i < 9; ++i) {
            INFO("receives that rank " << i % 3 << " has posted for rank " << i / 3);
            const auto& posted = world.edge(i / 3, i % 3).posted;
            CHECK(posted.size() <= 1);
            CHECK(std::ranges::all_of(posted, [](const auto& one) { return one.group == kGroup; }));
        }
        CHECK(scene.is({
            {{0, 2}, {{510ms, suspected}, {1010ms, alive}, {1610ms, suspected}}},
            {{1, 2}, {{511ms, suspected}, {1011ms, alive}, {1611ms, suspected}}},
        }));
    });
}

TEST_CASE("heartbeat: a process that stood still takes no other for dead") {
    for (const int misses : {2, 3}) {
        INFO("misses: " << misses << "; at 555 ms all processes stand still for 10 s");
        worlds({4}, [&](World& world) {
            Scene scene(world, with_misses(misses));
            scene.play([&] {
                scene.pass(555ms);
                for (int rank = 0; rank < 4; ++rank) {
                    scene.stop(rank);
                }
                scene.pass(10s);
                for (int rank = 0; rank < 4; ++rank) {
                    scene.go_on(rank);
                }
                scene.pass(1000ms);
            });
            REQUIRE(scene.is({}));
        });
    }
}

TEST_CASE("heartbeat: what has come while a process stood still is taken at its first look") {
    worlds({2}, [](World& world) {
        Scene scene(world);
        scene.play([&] {
            scene.pass(255ms);
            scene.stop(0);
            scene.pass(1900ms);
            scene.step(1) = 5;
            scene.pass(100ms);
            scene.stop(1);  // at 2255 ms: it has just stopped when rank 0 goes on
            scene.go_on(0);
            scene.pass(10ms);
            must_be(words(scene.last(0, 1)), "alive, step 5, silent for 0 ms", "rank 1 to rank 0");
            scene.pass(500ms);
        });
        CHECK(scene.is({
            {{0, 1}, {{2560ms, suspected}}},
            {{1, 0}, {{501ms, suspected}}},
        }));
    });
}

TEST_CASE("heartbeat: a clock that jumps makes no rank look dead, and the beats go on") {
    for (const Ms jump : {Ms(1h), Ms(-1h), Ms(24h * 365)}) {
        INFO("at 505 ms the clock of rank 0 jumps by " << jump / 1s << " s");
        worlds({3}, [&](World& world) {
            Scene scene(world);
            scene.play([&] {
                scene.pass(505ms);
                scene.skew(0) += jump;
                scene.pass(750ms);
                scene.stop(2);  // at 1255 ms: a silence is seen all the same
                scene.pass(700ms);
            });
            REQUIRE(scene.is({
                {{0, 2}, {{1510ms, suspected}}},
                {{1, 2}, {{1511ms, suspected}}},
            }));
        });
    }
}

TEST_CASE("heartbeat: where one way is cut, one side suspects, and the other one does not") {
    worlds({2}, [](World& world) {
        Scene scene(world);
        scene.play([&] {
            scene.pass(255ms);
            world.edge(1, 0).delay = 1s;
            scene.pass(1500ms);
        });
        CHECK(scene.is({{{0, 1}, {{510ms, suspected}, {1310ms, alive}}}}));
    });
}

TEST_CASE("heartbeat: a connection that has ended is a death known at once, and for good") {
    worlds({4}, [](World& world) {
        Scene scene(world);
        scene.play([&] {
            scene.pass(255ms);
            scene.stop(3);
            scene.pass(40ms);
            scene.step(2) = 9;
            scene.pass(10ms);
            world.kill(2);  // at 305 ms, after its last beat
            scene.pass(200ms);
            must_be(words(scene.last(0, 2)), "dead, step 9, silent for 190 ms", "rank 2 to rank 0");
            scene.pass(200ms);
            world.kill(3);  // at 705 ms: suspected before
            scene.pass(500ms);
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
            scene.steps({100, 100, 100});
            scene.play([&] {
                scene.pass(455ms);
                scene.step(0) += lag;
                scene.step(1) += lag;
                scene.pass(300ms);
                scene.step(2) += 1;
                scene.pass(200ms);
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
        scene.play([&] {
            for (int round = 0; round < 6; ++round) {
                scene.pass(round == 0 ? 55ms : 50ms);
                for (const auto& [rank, steps] : {std::pair{0, 4}, {1, 4}, {2, 4}, {3, 1}}) {
                    scene.step(rank) += steps;
                }
                if (round == 2) {
                    scene.stop(2);  // at 255 ms; it has said step 8
                }
                scene.pass(50ms);
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
        scene.play([&] {
            scene.pass(455ms);
            scene.step(1) = 1000;
            scene.pass(500ms);
        });
        const Story of_two = {
            {{0, 0}, {{510ms, straggler}}},
            {{1, 0}, {{461ms, straggler}}},
        };
        REQUIRE(scene.is(world.size() == 2 ? of_two : Story{}));
    });
}

TEST_CASE("heartbeat: the steps of ranks that are suspected or dead do not count") {
    for (const bool die : {false, true}) {
        INFO("ranks 3 and 4 " << (die ? "die" : "stand still") << " at 255 ms");
        worlds({5}, [&](World& world) {
            Scene scene(world);
            scene.play([&] {
                scene.pass(155ms);
                scene.steps({11, 11, 0, 6, 6});  // rank 2 is 6 behind the median
                scene.pass(100ms);
                for (const int rank : {3, 4}) {
                    die ? world.kill(rank) : scene.stop(rank);
                }
                scene.pass(500ms);
            });
            Story right;
            for (const int rank : {0, 1, 2}) {
                const Ms at = Ms(rank) + (die ? 260ms : 510ms);
                const Health end = die ? dead : suspected;
                right[{rank, 2}] = {{at, straggler}};  // now 11
                right[{rank, 3}] = {{at, end}};
                right[{rank, 4}] = {{at, end}};
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
        scene.steps({1000, 1000, 1000});  // a run that goes on from a snapshot
        scene.stop(2);
        scene.play([&] {
            scene.pass(195ms);
            must_be(
                words(scene.last(0, 2)), "alive, no step, silent for 190 ms", "rank 2 to rank 0"
            );
            scene.pass(500ms);
        });
        CHECK(scene.is({
            {{0, 2}, {{300ms, suspected}}},
            {{1, 2}, {{301ms, suspected}}},
        }));
    });
}

TEST_CASE("heartbeat costs a message from each rank to each other one in an interval") {
    for (const auto& [every, period] : {std::pair{10ms, 100ms}, {30ms, 120ms}, {250ms, 250ms}}) {
        INFO("all look every " << text(every));
        worlds({1, 2, 3, 5}, [&](World& world) {
            Scene scene(world);
            for (int rank = 0; rank < world.size(); ++rank) {
                scene.looks_every(rank, every);
            }
            scene.play([&] { scene.pass(995ms); });
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
        scene.play([&] {
            scene.pass(255ms);
            scene.stop(2);
            world.edge(0, 2).is_full = true;
            scene.step(0) = 1;
            scene.pass(500ms);
            scene.step(0) = 2;
            scene.pass(500ms);
            must_be(
                world.edge(0, 2).mail.size(), 1U,
                "the number of heartbeats of rank 0 that have not left for rank 2"
            );
            world.open(0, 2);
            scene.go_on(2);
            scene.pass(10ms);
            must_be(words(scene.last(2, 0)), "alive, step 1, silent for 0 ms", "rank 0 to rank 2");
            scene.pass(300ms);
        });
        CHECK(scene.is({
            {{0, 2}, {{510ms, suspected}, {1270ms, alive}}},
            {{1, 2}, {{511ms, suspected}, {1271ms, alive}}},
        }));
        CHECK(scene.last(2, 0).step == 2);
        INFO("heartbeats of rank 0 to rank 1, which takes all");
        CHECK(world.edge(0, 1).messages == 16);
    });
}

TEST_CASE("heartbeat refuses settings that make no sense") {
    on_one([] {
        World world(2);
        WorldTransport transport(world, 0);
        WorldClock clock(world, 0);
        const HeartbeatSettings wrong[] = {
            {.interval = 0ms}, {.interval = -1ms}, {.misses = 1}, {.misses = 0}, {.max_lag = -1}};
        for (const HeartbeatSettings& settings : wrong) {
            INFO("interval " << text(settings.interval) << ", misses " << settings.misses);
            INFO("max_lag " << settings.max_lag);
            const auto made = [&] { const Heartbeat one(transport, kGroup, clock, settings); };
            CHECK(thrown_as(made) == kInvalidArgument);
        }
    });
}

TEST_CASE("heartbeat on processes: one is stopped, and suspected; it goes on, and lives; it leaves"
) {
    constexpr std::uint32_t kWords = 9;  // group of what ranks tell each other besides
    constexpr int kLooks = 1000;         // of a millisecond or more each
    on_one([=] {
        const Processes run = on_transport(2, [=](Transport& transport, int rank, int) {
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
                transport.send(place, 0, kWords, 1);
                raise(SIGSTOP);
                INFO("the process that was stopped takes rank 0 for");
                CHECK(words(look()) == "alive, step 100, silent for 0 ms");
                const Request leave = transport.irecv({}, 0, kWords, 2);
                while (!transport.test(leave)) {
                    look();
                }
                return;
            }
            const Request stops = transport.irecv(place, 1, kWords, 1);
            while (!transport.test(stops)) {
                look();
            }
            int looks = 0;
            for (; look().health != suspected && looks < kLooks; ++looks) {
            }
            INFO("looks, 1 ms or more apart; 3 intervals of 20 ms are too long a silence");
            CHECK(looks < kLooks);
            do {  // again and again: it may not have come to its stop yet
                kill(pid, SIGCONT);
            } while (look().health != straggler);
            transport.send({}, 1, kWords, 2);
            while (look().health != dead) {
            }
        });
        CHECK(run.passed);
    });
}
