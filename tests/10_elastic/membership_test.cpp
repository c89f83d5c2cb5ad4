// What a node of an elastic job must do, whoever comes, goes, dies, stands still or is cut off. Nodes are threads of a virtual
// time, which go on one at a time; at the end they are processes.
#include "exercises/10_elastic/membership.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/hooked_store.hpp"
#include "tests/harness/world/watched_store.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr Ms kLook = 500ms;  // from one look of an agent to the next
constexpr Ms kAtOnce = 1s;   // looks of both sides
constexpr Ms kNoticed = 6s;  // a death: dead_after, a heartbeat, and looks of both sides

RendezvousSettings between(int min_nodes, int max_nodes) {
    return {
        .min_nodes = min_nodes,
        .max_nodes = max_nodes,
        .last_call = 2s,
        .join_timeout = 60s,
        .heartbeat = 1s,
        .dead_after = 4s,
        .poll = kLook};
}

/// "round 2: node 0 of 2, ranks 0-1 of 3"
std::string words(const WorkerRound& round) {
    return text(
        "round ", round.number, ": node ", round.node, " of ", round.nodes, ", ranks ",
        round.first_rank, "-", round.first_rank + round.workers - 1, " of ", round.world_size
    );
}

using Told = std::map<int, WorkerRound>;  // by node

/// Nodes a, b, ... are the ranks of a world, and meet in a store.
struct Job {
    World& world;
    RendezvousSettings settings;
    std::vector<int> workers;  // of each node
    WatchedStore store = {};
    std::map<std::int64_t, Told> told = {};           // by round
    std::map<std::int64_t, std::set<int>> said = {};  // by round: who has called finish()
    std::int64_t finished = 0;  // the first round in which that was true on a node

    [[nodiscard]] std::int64_t newest() const { return told.empty() ? 0 : told.rbegin()->first; }

    /// What these nodes have to be told, if they are all of the round.
    [[nodiscard]] Told right(Told all) const {
        const auto nodes = static_cast<int>(all.size());
        int size = 0;
        for (int rank = 0; auto& [node, its] : all) {
            its = {its.number, rank++, nodes, size, workers[node]};
            size += workers[node];
        }
        for (auto& [node, its] : all) {
            its.world_size = size;
        }
        return all;
    }
};

/// One node, and what its agent does.
struct Node {
    Node(Job& its_job, Place& me)
        : job(its_job),
          rank(me.rank),
          name(1, "abcd"[rank]),
          clock(me.clock),
          store(job.store, job.world.time),
          membership(store, "job", name, job.workers[rank], job.settings, clock) {}

    [[nodiscard]] Ms now() const { return job.world.time.now(); }

    /// It is this moment, or a little later.
    void is_at(Ms moment, Ms late, const std::string& what, TestLine at = TestLine::here()) const {
        must(
            {moment <= now() && now() <= moment + late, at}, what, " after ", now(),
            "; expected from ", moment, " to ", moment + late
        );
    }

    bool next() {
        const auto got = membership.next();
        if (!got) {
            return false;
        }
        const std::string what = text(name, " is told ", words(*got));
        must(got->number > round, what, ", after a newer one, or again");
        must(
            job.finished == 0 || got->number <= job.finished, what, ", although round ",
            job.finished, " is finished"
        );
        const bool is_enough = got->nodes >= job.settings.min_nodes;
        must(is_enough && got->nodes <= job.settings.max_nodes, what, ", too small or too large");
        round = got->number;
        Told& told = job.told[round];
        told[rank] = *got;
        std::string all;
        for (const auto& [node, its] : told) {
            all += text("; ", "abcd"[node], ": ", words(its));
        }
        must(
            std::ssize(told) < got->nodes || told == job.right(told), "the ranks of round ", round,
            " are wrong where nodes a, b, ... have ", job.workers, " workers", all
        );
        return true;
    }

    bool finish() {
        const bool was_finished = job.finished == round;
        job.said[round].insert(rank);
        const bool is_finished = membership.finish();
        const auto what = text(name, ": finish() is ", is_finished, " in round ", round, ", ");
        const bool all_said = std::ssize(job.said[round]) >= job.told[round][rank].nodes;
        must(!is_finished || all_said, what, "and not all nodes have called it");
        must(is_finished || !was_finished, what, "after it was true on another node");
        must(!is_finished || job.newest() <= round, what, "and a node was told a newer one");
        job.finished = is_finished ? round : job.finished;
        return is_finished;
    }

    /// Stays in its round until this moment, or while it holds. Returns whether it still does.
    bool stay_until(Ms moment) {
        while (now() < moment) {
            clock.sleep(kLook);
            if (!membership.holds()) {
                return false;
            }
        }
        return true;
    }

    /// Comes after so long, if that is not over, and stays until another moment in the round that it is told.
    bool joins(Ms start, Ms end) {
        job.world.time.sleep(std::max(start - now(), 0ms));
        must(next(), name, " is told that there are no more rounds");
        return stay_until(end);
    }

    /// Stays in its round, and says from that moment on that it has finished. Returns whether the job is; not if the round breaks
    /// before.
    bool work_until(Ms moment) {
        while (again([&] { return stay_until(moment); })) {
            if (again([&] { return finish(); })) {
                return true;
            }
            moment = now() + kLook;
        }
        return false;
    }

    /// Round after round, each for so long, until the job is finished or closed. What the store throws it tries again.
    void run(Ms start, Ms duration) {
        job.world.time.sleep(start);
        while (again([&] { return next(); }) && !work_until(now() + duration)) {
        }
    }

    bool again(const std::function<bool()>& call) {
        for (;; clock.sleep(kLook)) {
            try {
                return call();
            } catch (const Error&) {
            }
        }
    }

    /// Until a node has been told a newer round than this one, or for so long that it makes no difference.
    void stands_if(bool is_so) const {
        const Ms end = now() + (is_so ? 20s : 0s);
        while (job.newest() <= std::max<std::int64_t>(round, 1) && now() < end) {
            job.world.time.sleep(50ms);
        }
    }

    Job& job;
    int rank;
    std::string name;
    WorldClock& clock;
    HookedStore store;
    Membership membership;
    std::int64_t round = 0;  // the last one that it was told
};

using Plot = std::function<void(Node& node)>;

/// What each node does. Where that ends, it has died without a word.
void play(Job& job, const std::vector<Plot>& plots, TestLine at = TestLine::here()) {
    job.world.patience = 24h;
    const auto body = [&](Place& me) {
        Node node(job, me);
        plots[me.rank](node);
    };
    job.world.play(body, at);
}

}  // namespace

TEST_CASE("membership: workers have ranks by node, whatever numbers of workers the nodes have") {
    worlds({1, 2, 3, 4}, [](World& world) {
        Job job{world, between(world.size(), world.size()), {3, 1, 4, 2}};
        const Plot comes = [&](Node& node) {
            const auto start = static_cast<int>(world.seed) * (node.rank + 1) % 5;
            node.joins(start * 300ms, 0ms);  // 0: all at once
        };
        play(job, {comes, comes, comes, comes});
        CHECK(std::ssize(job.told[1]) == world.size());
    });
}

TEST_CASE(
    "membership: a node that comes, dies or leaves ends the round; one for which there is no room "
    "waits"
) {
    worlds({4}, [](World& world) {
        Job job{world, between(1, 2), {1, 2, 3, 2}};
        const Plot a = [](Node& node) {
            Membership& mine = node.membership;
            must(!mine.holds(), "holds() is true before the first next()");
            node.joins(30s, 50s);
            must(!mine.finish(), "a's finish() is true, and b has not called it");
            mine.leave();
            node.clock.sleep(10s);
            must(!mine.holds() && !mine.finish(), "holds() or finish() is true after leave()");
        };
        const Plot b = [](Node& node) {
            node.joins(0s, 90s);
            node.is_at(10s, kAtOnce, "d came after 10 s, and b's first round ended");
            node.joins(0s, 90s);
            node.is_at(20s, kNoticed, "d died after 20 s, and no node waited: b noticed it");
            node.joins(0s, 90s);
            node.is_at(30s, kAtOnce, "a came after 30 s, and b's third round ended");
            node.joins(0s, 90s);
            node.is_at(50s, kAtOnce, "c had no room after 40 s, a left after 50 s: b noticed it");
            node.joins(0s, 60s);
        };
        const Plot c = [](Node& node) { node.joins(40s, 60s); };
        const Plot d = [](Node& node) { node.joins(10s, 20s); };
        play(job, {a, b, c, d});
        CHECK(words(job.told[4][1]) == "round 4: node 1 of 2, ranks 1-2 of 3");
    });
}

TEST_CASE("membership: each call throws what the store throws; a round that was missed is over") {
    worlds({2}, [](World& world) {
        Job job{world, between(1, 2), {1, 1}};
        const Plot b = [](Node& node) {
            node.joins(0s, 20s);
            node.store.before = [](long) { throw Error("the store cannot be reached"); };
            Membership& mine = node.membership;
            const char* const kSilent = "() does not throw what the store threw";
            must(!error_of([&] { mine.holds(); }).empty(), "holds", kSilent);
            must(!error_of([&] { mine.finish(); }).empty(), "finish", kSilent);
            must(!error_of([&] { mine.next(); }).empty(), "next", kSilent);
            must(!error_of([&] { mine.leave(); }).empty(), "leave", kSilent);
            must(!error_of([&] { mine.close(); }).empty(), "close", kSilent);
            node.clock.sleep(20s);
            node.store.before = [](long) {};
            must(!mine.holds(), "holds() is true for a node that was cut off for 20 s");
            node.run(0s, 1s);
        };
        play(job, {[](Node& node) { node.run(0s, 60s); }, b});
        CHECK(job.newest() == 3);
    });
}

TEST_CASE("membership: without enough nodes next() throws Timeout, and the node is in no round") {
    // b stands still before one of its calls, until a has given up. Where a has seen the round begin, it was never told it.
    on_one([] {
        for (long call = 1, calls = 1; call <= calls; ++call) {
            INFO("b stands still for 40 s before its call " << call << " of the store");
            World world(2, 5);
            Job job{world, between(2, 2), {1, 1}};
            job.settings.join_timeout = 20s;
            const Plot a = [&](Node& node) {
                const Comparison result = throws_error<Timeout>([&] { node.membership.next(); });
                must(result.equal || call > 1, "b has not come, and next(): ", result.text);
                if (result.equal) {
                    node.is_at(
                        20s, call > 1 ? 40s : 2s, "b has not come, and next() threw Timeout"
                    );
                    node.clock.sleep(40s);
                    must(!node.membership.finish(), "finish() must be false: a is in no round");
                }
            };
            const Plot b = [&](Node& node) {
                node.store.before = [&](long number) {
                    calls = number;
                    world.time.sleep(number == call ? 40s : 0s);
                };
                try {
                    if (node.next() && node.finish()) {
                        node.membership.leave();
                    }
                } catch (const Timeout&) {  // it has waited as well
                }
            };
            play(job, {a, b});
        }
    });
}

TEST_CASE("membership: a job is finished when all nodes are: one that asks lives, and one has gone"
) {
    worlds({4}, [](World& world) {
        Job job{world, between(3, 3), {1, 1, 1, 1}};
        const char* const kBroken = "its round does not hold, and all live";
        const Plot a = [](Node& node) {
            node.joins(0s, 0s);
            while (!node.finish()) {  // that alone keeps it in
                node.clock.sleep(kLook);
            }
            node.is_at(30s, kAtOnce, "the last one finished after 30 s, and a heard of it");
        };
        const Plot b = [&](Node& node) {
            must(node.joins(0s, 20s), kBroken);
            must(node.finish() || !node.next(), "b is told a round after the last one");
        };
        const Plot c = [&](Node& node) {
            must(node.joins(0s, 19s), kBroken);
            for (; node.now() < 30s; node.clock.sleep(kLook)) {
                node.membership.holds();
            }
            must(node.finish(), "finish() is false on c, and all have said so; b has gone");
        };
        const Plot d = [&](Node& node) {
            node.clock.sleep(40s);
            must(!node.next(), "d came when the job was finished, and is told a round");
            node.is_at(40s, kAtOnce, "d came after 40 s, and was told that there are no rounds");
        };
        play(job, {a, b, c, d});
        CHECK(job.finished == 1);
    });
}

TEST_CASE("membership: a closed job begins no more rounds, and tells all that come") {
    worlds({3}, [](World& world) {
        Job job{world, between(2, 2), {1, 1, 1}};
        const Plot a = [&](Node& node) {
            node.joins(0s, 10s);
            node.membership.close();
            must(node.stay_until(20s), "a's round does not hold after close()");
            must(!node.next(), "a has closed the job, and is told another round");
            node.is_at(20s, kAtOnce, "a asked for another round after 20 s, and was told of none");
        };
        const Plot b = [](Node& node) {
            node.joins(0s, 60s);
            node.is_at(20s, kAtOnce, "a had gone then, and b noticed it");
        };
        const Plot c = [&](Node& node) {
            node.clock.sleep(5s);
            must(!node.next(), "a has closed the job, and c is told a round");
            node.is_at(10s, kAtOnce, "a closed after 10 s, and c, which waited, was told so");
        };
        play(job, {a, b, c});
    });
}

TEST_CASE("membership: the last one to finish stands still, and others come: one of both counts") {
    // For so long that others take it for dead. The other node of the round has finished and died.
    worlds({3}, [](World& world) {
        for (long call = 1, calls = 1; call <= calls; ++call) {
            INFO("a stands still before call " << call << " of its finish()");
            World mine(3, world.seed);
            Job job{mine, between(1, 3), {1, 1, 1}};
            const Plot a = [&](Node& node) {
                node.joins(0s, 6s);
                node.store.before = [&, first = node.store.calls](long number) {
                    calls = number - first;
                    node.stands_if(number == first + call);
                };
                node.work_until(6s);
            };
            const Plot b = [&](Node& node) {
                node.joins(0s, 5s);
                node.finish();
            };
            play(job, {a, b, [](Node& node) { node.run(8s, 1s); }});
        }
    });
}

TEST_CASE("membership: whatever happens to a node at any of its calls, all that live finish") {
    struct Fault {
        const char* what;
        std::function<void(Node& b, long since)> before;  // calls after the first that it hits
        std::function<void(long since)> after = [](long) {};
    };
    const auto dies_if = [](bool is_so) {
        if (is_so) {
            throw Killed();
        }
    };
    const auto fails_if = [](bool is_so) {
        if (is_so) {
            throw Error("the store does not answer");
        }
    };
    const Fault faults[] = {
        {"dies", [&](Node&, long since) { dies_if(since >= 0); }},
        {"gets no answer", [](Node&, long) {}, [&](long since) { fails_if(since == 0); }},
        {"is cut off for 9 s", [&](Node&, long since) { fails_if(since >= 0 && since < 18); }},
        {"stands still until others go on", [](Node& b, long since) { b.stands_if(since == 0); }},
        {"stands still until others go on, and dies", [&](Node& b, long since) {
             b.stands_if(since == 0);
             dies_if(since > 2);
         }}};
    for (const Fault& fault : faults) {
        worlds({3}, [&](World& world) {
            for (long call = 1, calls = 1; call <= calls; ++call) {
                INFO("b " << fault.what << ", at its call " << call << " of the store");
                World mine(3, world.seed);
                Job job{mine, between(1, 3), {2, 1, 3}};
                const Plot b = [&](Node& node) {
                    node.store.before = [&](long number) {
                        calls = number;
                        fault.before(node, number - call);
                    };
                    node.store.after = [&](long number) { fault.after(number - call); };
                    node.run(100ms, 2s);
                };
                const auto runs = [](Ms start) {
                    return [=](Node& node) { node.run(start, 2s + start); };
                };
                play(job, {runs(0s), b, runs(300ms)});
            }
        });
    }
}

TEST_CASE("membership: workers of two rounds or two runs do not meet") {
    on_one([] {
        std::set<std::string> keys;
        for (const std::string run : {"job", "job1", "1", "-1"}) {
            for (const std::int64_t number : {1, 2, 11, 111}) {
                for (const std::string key : {"mesh/0", "1/mesh/0", "round/1/mesh/0"}) {
                    const std::string all = round_prefix(run, number) + "/" + key;
                    INFO("round " << number << " of the run " << run << ": " << all);
                    CHECK(keys.insert(all).second);
                }
            }
        }
    });
}

TEST_CASE("membership: in 60 rounds the store gets no more keys than in two, and none of others") {
    worlds({2}, [](World& world) {
        Job job{world, between(1, 2), {1, 1}};
        const Plot a = [&](Node& node) {
            while (node.next() && node.round < 60) {
                node.stay_until(24h);
            }
            node.membership.close();
            must(
                node.store.most_keys <= 4 * 2 + 2, "in ", node.round, " rounds there were ",
                node.store.most_keys, " keys in the store"
            );
        };
        const Plot b = [](Node& node) {
            while (node.next()) {
                node.finish();
                node.stay_until(node.now() + 2s);
                node.membership.leave();
                node.clock.sleep(4s);
            }
        };
        play(job, {a, b});
        std::string wrong;  // how many keys there are is up to the answer
        for (const std::string& key : job.store.keys) {
            const bool is_workers = key.starts_with(round_prefix("job", 1) + "/");
            wrong += !key.starts_with("job/") || is_workers ? " " + key : "";
        }
        INFO("keys of another job, or of the workers:" << wrong);
        CHECK(wrong.empty());
    });
}

TEST_CASE("membership costs one value of the store for holds(), and two for finish()") {
    worlds({2}, [](World& world) {
        Job job{world, between(2, 2), {1, 1}};
        const Plot a = [&](Node& node) {
            node.joins(0s, 0s);
            world.time.sleep(1s);
            const auto values = [&](const std::function<bool()>& call) {
                node.membership.holds();
                call();
                const long before = job.store.told;
                for (int i = 0; i < 100; ++i) {
                    call();
                }
                return job.store.told - before;
            };
            const long of_holds = values([&] { return node.membership.holds(); });
            must(of_holds <= 100, "100 calls of holds() in no time read ", of_holds, " values");
            const long of_finish = values([&] { return node.membership.finish(); });
            must(of_finish <= 200, "100 calls of finish() in no time read ", of_finish, " values");
            must(
                std::ranges::count(node.clock.sleeps, kLook) == std::ssize(node.clock.sleeps),
                "a slept for ", node.clock.sleeps, ", and settings.poll is 500 ms"
            );
        };
        play(job, {a, [](Node& node) { node.joins(5s, 5s); }});
    });
}

TEST_CASE("membership refuses a node without workers, and touches no store when it is made") {
    on_one([] {
        WatchedStore store;
        SteadyClock clock;
        const auto made = [&](int workers, const RendezvousSettings& settings) {
            return thrown_as([&] { Membership(store, "job", "a", workers, settings, clock); });
        };
        CHECK(made(1, between(1, 1)) == "nothing");
        CHECK(made(0, between(1, 1)) == kInvalidArgument);
        CHECK(made(1, between(2, 1)) == kInvalidArgument);
        CHECK(store.calls.empty());
    });
}

TEST_CASE("membership on processes, through a FileStore: three rounds, and all finish") {
    on_one([] {
        const std::string path = fresh_path().string();
        const Processes run = on_transport(4, [&](Transport&, int i, int) {
            FileStore store(path, kRun);
            SteadyClock clock;
            RendezvousSettings settings = {.min_nodes = 4, .max_nodes = 4};
            settings.poll = 1ms;
            Membership node(store, "job", text("node", i), i + 1, settings, clock);
            WorkerRound round;
            while (round.number < 3) {
                round = node.next().value();
                INFO("node" << i << " is told " << words(round));
                CHECK(round == WorkerRound{round.number, i, 4, i * (i + 1) / 2, i + 1, 10});
            }
            while (!node.finish()) {
                clock.sleep(1ms);
            }
        });
        CHECK(run.passed);
    });
}
