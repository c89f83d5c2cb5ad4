// What a node of an elastic job must do, whoever comes, goes, dies, stands still or is cut off. Nodes are threads of a virtual
// time, which go on one at a time; at the end they are processes.
#include "exercises/10_elastic/membership.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/hooked_store.hpp"
#include "tests/harness/world/watched_store.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr Ms kLook = 500ms;  // from one look of an agent to the next
constexpr Ms kDeadAfter = 4s;
constexpr Ms kNoticed = 6s;  // a death: dead_after, a heartbeat, and looks of both sides
constexpr const char* kCut = "the store cannot be reached";

RendezvousSettings between(int min_nodes, int max_nodes) {
    return {
        .min_nodes = min_nodes,
        .max_nodes = max_nodes,
        .last_call = 2s,
        .join_timeout = 60s,
        .heartbeat = 1s,
        .dead_after = kDeadAfter,
        .poll = kLook};
}

/// What a node throws when it dies. It is no std::exception: no call takes it for an error.
struct Dies {};

/// "round 2: node 0 of 2, ranks 0-1 of 3"
std::string words(const WorkerRound& round) {
    return text(
        "round ", round.number, ": node ", round.node, " of ", round.nodes, ", ranks ",
        round.first_rank, "-", round.first_rank + round.workers - 1, " of ", round.world_size
    );
}

/// What the nodes of a job have in common, and what happened to them.
struct Shared {
    Shared(const RendezvousSettings& its_settings, std::uint64_t seed)
        : settings(its_settings), time(seed) {}

    void note(const std::string& what) { wrong = wrong.empty() ? what : wrong; }

    RendezvousSettings settings;
    VirtualTime time;
    WatchedStore store;
    std::map<std::int64_t, std::set<std::string>> said = {};  // by round: who has called finish()
    std::int64_t finished = 0;  // the first round in which that was true on a node
    std::string wrong = {};     // the first thing that went wrong
};

/// One node, and what its agent does. What happens is kept for the end: no check is made in a thread.
class Agent {
  public:
    static constexpr const char* kJob = "job";

    Agent(Shared& shared, std::string its_name, int its_workers, Ms skew)
        : name(std::move(its_name)),
          workers(its_workers),
          clock(shared.time, skew),
          store(shared.store, shared.time),
          job_(shared),
          node_(store, kJob, name, workers, shared.settings, clock) {}

    std::optional<WorkerRound> next() {
        const auto round = node_.next();
        if (round) {
            rounds.push_back(*round);
        }
        is_over = !round;
        return round;
    }
    bool holds() { return node_.holds(); }
    bool finish_in_no_round() { return node_.finish(); }
    void leave() { node_.leave(); }
    void close() { node_.close(); }

    bool finish() {
        const WorkerRound& round = rounds.back();
        const bool was_finished = job_.finished == round.number;
        job_.said[round.number].insert(name);
        const bool is_finished = node_.finish();
        if (is_finished && std::ssize(job_.said[round.number]) < round.nodes) {
            job_.note(text(
                name, ": finish() is true in round ", round.number,
                ", and not all nodes have called it"
            ));
        }
        if (was_finished && !is_finished) {
            job_.note(text(
                name, ": finish() is false in round ", round.number,
                ", after it was true on another node"
            ));
        }
        finished = is_finished ? round.number : finished;
        job_.finished = job_.finished == 0 ? finished : job_.finished;
        return is_finished;
    }

    /// Stays in its round until this moment, or while it holds. Returns whether it still does.
    bool stay_until(Ms moment) {
        while (job_.time.now() < moment) {
            clock.sleep(kLook);
            if (!holds()) {
                return false;
            }
        }
        return true;
    }

    /// Stays in its round, and says from that moment on that it has finished. Returns whether the job is; not if the round breaks
    /// before.
    bool work_until(Ms moment) {
        for (;; clock.sleep(kLook)) {
            if (job_.time.now() >= moment && again([&] { return finish(); })) {
                return true;
            }
            if (!again([&] { return holds(); })) {
                return false;
            }
        }
    }

    /// Round after round, each for so long, until the job is finished or closed. What the store throws it tries again.
    void run(Ms duration) {
        while (again([&] { return next(); }) && !work_until(job_.time.now() + duration)) {
        }
    }

    std::string name;
    int workers;
    VirtualClock clock;
    HookedStore store;
    std::vector<WorkerRound> rounds;  // all that it was told
    std::int64_t finished = 0;        // the round in which finish() was true
    bool is_over = false;             // next() was none
    bool is_dead = false;

  private:
    template <class Call>
    std::invoke_result_t<const Call&> again(const Call& call) {
        for (;; clock.sleep(kLook)) {
            try {
                return call();
            } catch (const Timeout&) {
                throw;
            } catch (const Error&) {
            }
        }
    }

    Shared& job_;
    Membership node_;
};

class Job : public Shared {
  public:
    using Shared::Shared;

    std::vector<std::unique_ptr<Agent>> agents;

    /// A node that comes at a time, and what it does then. It dies where that ends, without a word, or where Dies is thrown.
    Agent& add(
        const std::string& name,
        int workers,
        Ms start,
        const std::function<void(Agent&)>& plot,
        Ms skew = Ms(0)
    ) {
        agents.push_back(std::make_unique<Agent>(*this, name, workers, skew));
        Agent& agent = *agents.back();
        plots_.emplace_back([this, &agent, start, plot] {
            time.sleep(start);
            try {
                plot(agent);
            } catch (const Dies&) {
                agent.is_dead = true;
            }
        });
        return agent;
    }

    /// Plays to the end. Says what is wrong, if something is.
    Comparison play() {
        const std::vector<std::string> ends = time.run(plots_);
        for (std::size_t i = 0; i < ends.size(); ++i) {
            note(ends[i].empty() ? "" : agents[i]->name + ": " + ends[i]);
        }
        note(wrong_rounds());
        return {wrong.empty(), wrong + told()};
    }

    /// Whether all nodes that live have come to the end of the job.
    [[nodiscard]] Comparison all_end() const {
        for (const auto& agent : agents) {
            if (!agent->is_dead && agent->finished == 0 && !agent->is_over) {
                return {false, agent->name + " did not come to the end of the job" + told()};
            }
        }
        return {};
    }

    /// What each node was told, a line for each.
    [[nodiscard]] std::string told() const {
        std::string all;
        for (const auto& agent : agents) {
            all += "\n  " + agent->name + (agent->is_dead ? ", which died: " : ": ");
            for (const WorkerRound& round : agent->rounds) {
                all += words(round) + "; ";
            }
            all += agent->finished > 0 ? "finished" : agent->is_over ? "no more rounds" : "";
        }
        return all;
    }

  private:
    /// What is wrong with the rounds that nodes were told.
    [[nodiscard]] std::string wrong_rounds() const {
        std::map<std::int64_t, std::map<std::string, WorkerRound>> all;  // by number, and by name
        for (const auto& agent : agents) {
            std::int64_t last = 0;
            for (const WorkerRound& round : agent->rounds) {
                const std::string what = text(agent->name, " is told ", words(round));
                if (round.number <= std::exchange(last, round.number)) {
                    return what + ", after a newer one, or again";
                }
                if (finished > 0 && round.number > finished) {
                    return text(what, ", although round ", finished, " is finished");
                }
                if (round.workers != agent->workers) {
                    return text(what, ": it has ", agent->workers, " workers");
                }
                all[round.number][agent->name] = round;
            }
        }
        for (const auto& [number, rounds] : all) {
            WorkerRound before = {.node = -1};
            for (const auto& [name, round] : rounds) {
                if (const std::string what = wrong_with(round, before); !what.empty()) {
                    return text(
                        name, " is told ", words(round), ", the one before it ", words(before),
                        ": ", what
                    );
                }
                before = round;
            }
        }
        return "";
    }

    /// What is wrong with a round as one node is told it, and as the node with the next lower name is, if there is one.
    [[nodiscard]] std::string wrong_with(const WorkerRound& round, const WorkerRound& before)
        const {
        const bool is_first = round.node == 0;
        const bool is_last = round.node == round.nodes - 1;
        const bool has_before = before.node >= 0;
        const int start = before.first_rank + before.workers;
        const int end = round.first_rank + round.workers;
        const std::pair<bool, const char*> rules[] = {
            {settings.min_nodes <= round.nodes && round.nodes <= settings.max_nodes,
             "that are too few nodes, or too many"},
            {0 <= round.node && round.node < round.nodes, "there is no such node"},
            {is_first == (round.first_rank == 0),
             "the first node has the first ranks, and no other one"},
            {end <= round.world_size && is_last == (end == round.world_size),
             "the last node has the last ranks, and no other one"},
            {!has_before || (before.nodes == round.nodes && before.world_size == round.world_size),
             "these are two sizes for one round"},
            {before.node < round.node, "nodes have their ranks by name"},
            {!has_before || start <= round.first_rank, "a rank is there twice"},
            {!has_before || before.node + 1 < round.node || start >= round.first_rank,
             "a rank between them is missing"}};
        const auto* const broken =
            std::ranges::find(rules, false, &std::pair<bool, const char*>::first);
        return broken == std::end(rules) ? "" : broken->second;
    }

    std::vector<std::function<void()>> plots_;
};

/// Plays with so many seeds.
void seeds(std::uint64_t n, const std::function<void(std::uint64_t seed)>& body) {
    on_ranks_each(
        {1}, [&](int) { return static_cast<std::size_t>(n); },
        [&](const Communicator&, std::size_t seed) {
            INFO("seed " << seed);
            body(seed);
        }
    );
}

Comparison same_rounds(const Agent& agent, const std::vector<std::string>& expected) {
    std::vector<std::string> got;
    for (const WorkerRound& round : agent.rounds) {
        got.push_back(words(round));
    }
    return {got == expected, text(agent.name, " is told ", got, "; expected ", expected)};
}

/// Whether something happened in time, by the test's clock.
Comparison between_times(const std::string& what, Ms got, Ms first, Ms last) {
    return {
        first <= got && got <= last,
        text(what, " after ", got, "; expected from ", first, " to ", last)};
}

/// What happens to b, at which of its calls.
using Fault = std::function<void(Job& job, Agent& b, long call)>;

/// "at call 3: ..."
Comparison at_call(const Comparison& one, long call) {
    return {one.equal, one ? "" : text("at call ", call, ": ", one.text)};
}

/// Plays three nodes' lives, again and again, with the fault at the first call of b, the second,
/// and so on to its last one. How many there are is the answer's matter: so one check is for all.
void at_every_call(std::uint64_t seed, const std::string& what, const Fault& fault) {
    Comparison right;
    for (long call = 1; right; ++call) {
        Job job(between(1, 3), seed);
        job.add("a", 2, 0ms, [](Agent& node) { node.run(2s); });
        Agent& b = job.add("b", 1, 100ms, [](Agent& node) { node.run(2s); });
        job.add("c", 3, 300ms, [](Agent& node) { node.run(3s); });
        fault(job, b, call);
        right = at_call(job.play(), call);
        right = right ? at_call(job.all_end(), call) : right;
        if (b.store.calls < call) {
            break;  // it has made fewer
        }
    }
    INFO(what << " of the store");
    REQUIRE(right);
}

/// Until another node has been told a newer round than its own, or the job has ended for all
/// others.
void stand_still(Job& job, const Agent& node) {
    const auto last = [](const Agent& one) {
        return one.rounds.empty() ? 0 : one.rounds.back().number;
    };
    const auto goes_on = [&](const auto& other) {
        return last(*other) > std::max<std::int64_t>(last(node), 1);
    };
    const Ms end = job.time.now() + 20s;
    while (std::ranges::none_of(job.agents, goes_on) && job.time.now() < end) {
        job.time.sleep(50ms);
    }
}

}  // namespace

TEST_CASE("membership: workers have ranks by node, whatever numbers of workers the nodes have") {
    seeds(8, [](std::uint64_t seed) {
        const int workers[] = {3, 1, 4, 2};
        for (int n = 1; n <= 4; ++n) {
            Job job(between(n, n), seed);
            for (int i = 0; i < n; ++i) {
                const Ms start =
                    (seed * static_cast<unsigned>(i + 1) % 5) * 300ms;  // 0: all at once
                const std::string name(1, static_cast<char>('a' + i));
                job.add(name, workers[i], start, [](Agent& node) { node.next(); });
            }
            REQUIRE(job.play());
            int first = 0;
            for (int i = 0; i < n; ++i) {
                const WorkerRound expected{
                    1, i, n, first, workers[i], std::accumulate(workers, workers + n, 0)};
                INFO(
                    n << " nodes, with 3, 1, 4 and 2 workers: expected " << words(expected)
                      << job.told()
                );
                CHECK(job.agents[static_cast<std::size_t>(i)]->rounds == std::vector{expected});
                first += workers[i];
            }
        }
    });
}

TEST_CASE("membership: a node that comes late is in a new round, and waits where there is no room"
) {
    on_one([] {
        Job job(between(1, 2), 1);
        std::vector<Ms> ends;
        Agent& b = job.add("b", 2, 0s, [&](Agent& node) {
            while (node.rounds.size() < 3) {
                node.next();
                node.stay_until(50s);
                ends.push_back(job.time.now());
            }
        });
        const Agent& a = job.add("a", 1, 10s, [](Agent& node) {
            node.next();
            node.stay_until(30s);
            node.leave();
        });
        const Agent& c = job.add("c", 3, 20s, [](Agent& node) {
            node.next();
            node.stay_until(50s);
        });
        CHECK(job.store.calls.empty());
        REQUIRE(job.play());
        CHECK(same_rounds(
            b, {"round 1: node 0 of 1, ranks 0-1 of 2", "round 2: node 1 of 2, ranks 1-2 of 3",
                "round 3: node 0 of 2, ranks 0-1 of 5"}
        ));
        CHECK(same_rounds(a, {"round 2: node 0 of 2, ranks 0-0 of 3"}));
        CHECK(same_rounds(c, {"round 3: node 1 of 2, ranks 2-4 of 5"}));
        REQUIRE(ends.size() == 3);
        CHECK(between_times("a came after 10 s, and b's first round ended", ends[0], 10s, 11s));
        CHECK(between_times(
            "c came after 20 s, when there was no room, a left after 30 s, and b's second round "
            "ended",
            ends[1], 30s, 31s
        ));
    });
}

TEST_CASE("membership: a death is noticed, although no node waits to come in") {
    seeds(3, [](std::uint64_t seed) {
        Job job(between(1, 2), seed);
        Ms noticed{0};
        const Agent& a = job.add("a", 2, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(60s);
            noticed = job.time.now();
            node.next();
        });
        job.add("b", 2, 0s, [](Agent& node) {
            node.next();
            node.stay_until(20s);
            throw Dies();
        });
        INFO("two nodes, and no third one");
        REQUIRE(job.play());
        CHECK(between_times("b died after 20 s, and a noticed it", noticed, 20s, 20s + kNoticed));
        CHECK(same_rounds(
            a, {"round 1: node 0 of 2, ranks 0-1 of 4", "round 2: node 0 of 1, ranks 0-1 of 2"}
        ));
    });
}

TEST_CASE("membership: a node that leaves is missed at once, and is in no round any more") {
    on_one([] {
        Job job(between(1, 2), 2);
        Ms noticed{0};
        std::vector<bool> after;
        const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(60s);
            noticed = job.time.now();
            node.run(60s);
        });
        const Agent& b = job.add("b", 1, 0s, [&](Agent& node) {
            after.push_back(node.holds());
            node.next();
            node.stay_until(20s);
            after.push_back(node.finish());
            node.leave();
            after.push_back(node.holds());
            after.push_back(node.finish());
            node.leave();
            node.clock.sleep(20s);
            node.run(1s);
        });
        REQUIRE(job.play());
        INFO(job.told());
        CHECK(between_times("b left after 20 s, and a noticed it", noticed, 20s, 21s));
        INFO(
            "b asks: does its round hold, before the first one; finish(); leaves; and asks both "
            "again"
        );
        CHECK(after == std::vector<bool>{false, false, false, false});
        CHECK(a.rounds.size() == 3);
        REQUIRE(b.rounds.size() == 2);
        CHECK(b.rounds[1].number == 3);
    });
}

TEST_CASE("membership: each call throws what the store throws; a round that was missed is over") {
    seeds(3, [](std::uint64_t seed) {
        Job job(between(1, 2), seed);
        bool is_cut = false;
        const Agent& a = job.add("a", 1, 0s, [&](Agent& node) { node.run(60s); });
        const auto plot = [&](Agent& node) {
            node.next();
            node.stay_until(20s);
            is_cut = true;
            const std::pair<const char*, std::function<void()>> calls[] = {
                {"holds", [&] { node.holds(); }},
                {"finish", [&] { node.finish(); }},
                {"next", [&] { node.next(); }},
                {"leave", [&] { node.leave(); }},
                {"close", [&] { node.close(); }}};
            for (const auto& [name, call] : calls) {
                try {
                    call();
                    job.note(text(name, "() returns, and does not throw what the store threw"));
                } catch (const Error&) {
                }
            }
            node.clock.sleep(20s);
            is_cut = false;
            if (node.holds()) {
                job.note("holds() is true for a node that was cut off for 20 s");
            }
            node.run(1s);
        };
        Agent& b = job.add("b", 1, 0s, plot, -24h);
        b.store.before = [&](long) {
            if (is_cut) {
                throw Error(kCut);
            }
        };
        REQUIRE(job.play());
        INFO("b was cut off from 20 s to 40 s" << job.told());
        CHECK(same_rounds(
            a, {"round 1: node 0 of 2, ranks 0-0 of 2", "round 2: node 0 of 1, ranks 0-0 of 1",
                "round 3: node 0 of 2, ranks 0-0 of 2"}
        ));
        CHECK(same_rounds(
            b, {"round 1: node 1 of 2, ranks 1-1 of 2", "round 3: node 1 of 2, ranks 1-1 of 2"}
        ));
    });
}

TEST_CASE("membership: without enough nodes next() throws Timeout, and can be called again") {
    on_one([] {
        Job job(between(2, 2), 5);
        Ms at{0};
        const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
            try {
                node.next();
                job.note("without enough nodes next() returns, and does not throw Timeout");
            } catch (const Timeout&) {
                at = job.time.now();
            }
            node.clock.sleep(30s);
            node.next();
        });
        const Agent& b = job.add("b", 1, 80s, [](Agent& node) { node.next(); });
        REQUIRE(job.play());
        CHECK(between_times("a gave up", at, 60s, 62s));
        CHECK(a.rounds.size() == 1);
        CHECK(b.rounds.size() == 1);
    });
}

TEST_CASE("membership: after a Timeout in next(), finish() is false, whatever round had begun") {
    on_one([] {
        // b stands still before one of its calls, until a has given up. Where a has seen the round begin, it was never told it.
        std::string wrong;
        for (long call = 1, calls = 1; call <= calls && wrong.empty(); ++call) {
            Job job(between(2, 2), 5);
            job.settings.join_timeout = 20s;
            job.add("a", 1, 0s, [&](Agent& node) {
                try {
                    node.next();
                } catch (const Timeout&) {
                    node.clock.sleep(40s);
                    if (node.finish_in_no_round()) {
                        wrong = text(
                            "finish() must be false: a is in no round. b stood still before call ",
                            call
                        );
                    }
                }
            });
            Agent& b = job.add("b", 1, 0s, [&](Agent& node) {
                if (node.next() && node.finish()) {
                    node.leave();
                }
            });
            b.store.before = [&](long number) { job.time.sleep(number == call ? 40s : 0s); };
            static_cast<void>(job.play());  // b may end by a Timeout as well
            calls = b.store.calls;
        }
        INFO(wrong);
        CHECK(wrong.empty());
    });
}

TEST_CASE("membership: a job is finished when all nodes are, who live while they ask") {
    // They say so again and again: that alone keeps them in.
    seeds(3, [](std::uint64_t seed) {
        Job job(between(3, 3), seed);
        std::vector<Ms> ends;
        for (const char* const name : {"a", "b", "c"}) {
            const Ms work = 15s * (name[0] - 'a');
            job.add(name, 1, 0s, [&, work](Agent& node) {
                node.next();
                while (job.time.now() < work) {
                    node.clock.sleep(kLook);
                    if (!node.holds()) {
                        job.note(node.name + ": its round does not hold, and all live");
                        return;
                    }
                }
                while (!node.finish() && job.time.now() < 60s) {
                    node.clock.sleep(kLook);
                }
                ends.push_back(job.time.now());
            });
        }
        INFO("a finishes at once, b after 15 s, c after 30 s");
        REQUIRE(job.play());
        for (const auto& agent : job.agents) {
            CHECK(agent->finished == 1);
        }
        for (const Ms end : ends) {
            CHECK(between_times("finish() was true", end, 30s, 31s));
        }
    });
}

TEST_CASE("membership: what was finished in an older round counts for nothing") {
    // a has finished round 1 when b begins another one.
    seeds(3, [](std::uint64_t seed) {
        Job job(between(2, 2), seed);
        std::vector<bool> in_round_2;
        const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
            node.next();
            node.work_until(0s);
            node.next();
            node.stay_until(20s);
            node.work_until(20s);
        });
        job.add("b", 1, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(10s);
            node.next();
            in_round_2.push_back(node.finish());
            node.work_until(0s);
        });
        REQUIRE(job.play());
        INFO("b's finish() in round 2, where a has not said so yet" << job.told());
        CHECK(in_round_2 == std::vector<bool>{false});
        CHECK(a.finished == 2);
    });
}

TEST_CASE("membership: a finished or closed job begins no more rounds, and tells all that come") {
    on_one([] {
        // When a node was told that there are no more rounds.
        const auto told_none_at = [](Job& job, Ms& at) {
            return [&](Agent& node) {
                if (!node.next()) {
                    at = job.time.now();
                }
            };
        };
        Job finished(between(2, 3), 3);
        finished.add("a", 1, 0s, [](Agent& node) { node.run(1s); });
        finished.add("b", 1, 0s, [](Agent& node) { node.run(2s); });
        Ms late{-1};
        finished.add("c", 1, 30s, told_none_at(finished, late));
        REQUIRE(finished.play());
        CHECK(finished.finished == 1);
        CHECK(between_times(
            "the job was finished; c came after 30 s, and was told so", late, 30s, 31s
        ));

        Job closed(between(2, 2), 4);
        Ms noticed{0};
        Ms waited{-1};
        Ms left{-1};
        bool held = false;
        closed.add("a", 1, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(10s);
            node.close();
            held = node.stay_until(20s);
            told_none_at(closed, left)(node);
        });
        closed.add("b", 1, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(60s);
            noticed = closed.time.now();
        });
        closed.add("c", 1, 5s, told_none_at(closed, waited));
        late = -1ms;
        closed.add("d", 1, 15s, told_none_at(closed, late));
        REQUIRE(closed.play());
        CHECK(held);
        CHECK(
            between_times("a closed after 10 s, and c, which waited, was told so", waited, 10s, 11s)
        );
        CHECK(between_times("d came after 15 s, and was told so", late, 15s, 16s));
        CHECK(between_times("a asked for another round after 20 s, and was told so", left, 20s, 21s)
        );
        CHECK(between_times("a had gone then, and b noticed it", noticed, 20s, 21s));
    });
}

TEST_CASE("membership: one finishes and goes, the other finishes, and both hear that all is well") {
    seeds(20, [](std::uint64_t seed) {
        Job job(between(2, 2), seed);
        job.add("a", 1, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(3s);
            if (!node.finish() && node.next()) {
                job.note("a is told another round, and all have finished this one");
            }
        });
        job.add("b", 1, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(3s);
            node.clock.sleep(kLook);
            if (!node.finish()) {
                job.note("finish() is false on b, where all have said so: a as well, which has gone"
                );
            }
        });
        REQUIRE(job.play());
        REQUIRE(job.all_end());
    });
}

TEST_CASE("membership: two nodes finish, and each goes when it hears of both") {
    seeds(20, [](std::uint64_t seed) {
        Job job(between(2, 2), seed);
        for (const char* const name : {"a", "b"}) {
            job.add(name, 1, 0s, [&](Agent& node) {
                node.next();
                node.stay_until(3s);
                while (!node.finish() && job.time.now() < 30s) {
                    node.clock.sleep(kLook);
                }
                node.leave();
            });
        }
        REQUIRE(job.play());
        REQUIRE(job.all_end());
    });
}

TEST_CASE("membership: the last one to finish stands still, and others come: one of both counts") {
    // For so long that others take it for dead. The other node of the round, if there is one, has finished and died.
    for (const bool with_b : {true, false}) {
        seeds(2, [&](std::uint64_t seed) {
            long finished = 0;
            long others = 0;
            Comparison right;
            for (long call = 1; right; ++call) {
                Job job(between(1, 3), seed);
                long calls_before = 0;
                Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
                    node.next();
                    if (node.stay_until(6s)) {
                        calls_before = node.store.calls;
                        node.work_until(6s);
                    }
                });
                a.store.before = [&](long number) {
                    if (calls_before > 0 && number == calls_before + call) {
                        stand_still(job, a);
                    }
                };
                if (with_b) {
                    job.add("b", 1, 0s, [&](Agent& node) {
                        node.next();
                        node.stay_until(5s);
                        node.finish();
                    });
                }
                const Agent& c = job.add("c", 1, 8s, [](Agent& node) { node.run(1s); });
                right = at_call(job.play(), call);
                const bool reached = a.store.calls >= calls_before + call;
                if (!reached) {
                    break;
                }
                finished += a.finished > 0 ? 1 : 0;
                others += c.rounds.empty() ? 0 : 1;
            }
            INFO(
                (with_b ? "a is the last one to finish, b has died since"
                        : "a is alone in the round")
                << "; a stands still before a call of its finish(), and c comes"
            );
            REQUIRE(right);
            INFO(
                "finished " << finished << " times, and c was told a round " << others << " times"
            );
            CHECK((finished > 0 && others > 0));
        });
    }
}

TEST_CASE("membership: a node dies before any of its calls of the store, and the others go on") {
    seeds(2, [](std::uint64_t seed) {
        at_every_call(seed, "b dies before its call", [](Job&, Agent& b, long call) {
            b.store.before = [call](long number) {
                if (number >= call) {
                    throw Dies();
                }
            };
        });
    });
}

TEST_CASE("membership: an answer is lost, and the call that is made again counts once") {
    seeds(2, [](std::uint64_t seed) {
        at_every_call(seed, "b's answer is lost, of its call", [](Job&, Agent& b, long call) {
            b.store.after = [call](long number) {
                if (number == call) {
                    throw Error("the answer is lost");
                }
            };
        });
    });
}

TEST_CASE("membership: a node is cut off before any of its calls, and comes back") {
    seeds(2, [](std::uint64_t seed) {
        at_every_call(
            seed, "b is cut off for 9 s, before its call",
            [](Job& job, Agent& b, long call) {
                b.store.before = [&job, call, end = Ms(0)](long number) mutable {
                    end = number == call ? job.time.now() + 9s : end;
                    if (job.time.now() < end) {
                        throw Error(kCut);
                    }
                };
            }
        );
    });
}

TEST_CASE(
    "membership: a node that stands still before any of its calls does no harm when it goes on"
) {
    // In every second game it dies soon after: then what it has done stays.
    seeds(4, [](std::uint64_t seed) {
        const bool dies = seed % 2 == 1;
        at_every_call(
            seed,
            "b stands still until others are in a newer round" +
                std::string(dies ? ", and dies three calls later" : "") + ", before its call",
            [dies](Job& job, Agent& b, long call) {
                b.store.before = [&job, &b, call, dies](long number) {
                    if (number == call) {
                        stand_still(job, b);
                    } else if (dies && number > call + 2) {
                        throw Dies();
                    }
                };
            }
        );
    });
}

TEST_CASE("membership: workers of two rounds or two runs do not meet") {
    on_one([] {
        HashStore store;
        std::set<std::string> prefixes;
        for (const std::string run : {"job", "job1", "1", "-1"}) {
            for (const std::int64_t number : {1, 2, 11, 111}) {
                const std::string prefix = round_prefix(run, number);
                INFO("round " << number << " of the run " << run << ": " << prefix);
                CHECK(prefixes.insert(prefix).second);
                CHECK(prefix == round_prefix(run, number));
                for (const std::string key : {"mesh/0", "1/mesh/0", "round/1/mesh/0"}) {
                    PrefixStore workers(prefix, store);
                    CHECK(!workers.check({key}));
                    workers.set(key, "here");
                }
            }
        }
    });
}

TEST_CASE("membership: no key of the nodes is one of the workers, and two jobs do not meet") {
    on_one([] {
        Job job(between(2, 2), 1);
        for (const char* const name : {"a", "b"}) {
            job.add(name, 1, 0s, [](Agent& node) { node.run(3s); });
        }
        REQUIRE(job.play());
        std::string elsewhere;  // how many keys there are is up to the answer
        std::string workers;
        for (const std::string& key : job.store.keys) {
            if (!key.starts_with("job/")) {
                elsewhere = key;
            }
            for (const std::int64_t number : {1, 2}) {
                if (key.starts_with(round_prefix("job", number) + "/")) {
                    workers = key;
                }
            }
        }
        INFO("it has the key " << elsewhere << workers);
        CHECK(elsewhere.empty());
        CHECK(workers.empty());
        // a job that is finished, and another one in the same store
        SteadyClock clock;
        Membership other(job.store, "other", "a", 2, between(1, 1), clock);
        const auto round = other.next();
        REQUIRE(round.has_value());
        CHECK(*round == WorkerRound{.number = 1, .workers = 2, .world_size = 2});
        CHECK(other.finish());
    });
}

TEST_CASE("membership: in 60 rounds the store gets no more keys than in two") {
    on_one([] {
        constexpr std::int64_t kMost = 4 * 2 + 2;
        Job job(between(1, 2), 2);
        const Agent& a = job.add("a", 1, 0s, [](Agent& node) {
            while (node.next() && node.rounds.back().number < 60) {
                node.stay_until(24h);
            }
        });
        const Agent& b = job.add("b", 1, 0s, [&](Agent& node) {
            for (int i = 0; i < 30; ++i) {
                node.next();
                node.finish();
                node.stay_until(job.time.now() + 2s);
                node.leave();
                node.clock.sleep(4s);
            }
        });
        REQUIRE(job.play());
        const std::int64_t most = std::max(a.store.most_keys, b.store.most_keys);
        INFO("in " << a.rounds.size() << " rounds: keys in the store");
        CHECK(a.rounds.size() >= 59);
        CHECK(most <= kMost);
    });
}

TEST_CASE("membership costs one value of the store for holds(), and two for finish()") {
    on_one([] {
        Job job(between(2, 2), 3);
        std::vector<long> told;
        const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
            node.next();
            job.time.sleep(1s);
            const auto measure = [&](const std::function<void()>& call) {
                node.holds();
                call();
                const long before = job.store.told;
                for (int i = 0; i < 100; ++i) {
                    call();
                }
                told.push_back(job.store.told - before);
            };
            measure([&] { node.holds(); });
            measure([&] { node.finish(); });
            node.stay_until(30s);
        });
        job.add("b", 1, 5s, [&](Agent& node) {
            node.next();
            job.time.sleep(3s);
        });
        REQUIRE(job.play());
        INFO("values of the store that 100 calls were told, in no time");
        REQUIRE(told.size() == 2);
        CHECK(told[0] <= 100);
        CHECK(told[1] <= 200);
        INFO("a slept for " << text(a.clock.sleeps) << ", and settings.poll is 500 ms");
        CHECK(std::ranges::all_of(a.clock.sleeps, [](Ms slept) { return slept == kLook; }));
    });
}

TEST_CASE("membership refuses a node without workers") {
    on_one([] {
        HashStore store;
        SteadyClock clock;
        const auto made = [&](int workers, const RendezvousSettings& settings) {
            return thrown_as([&] {
                const Membership node(store, "job", "a", workers, settings, clock);
            });
        };
        CHECK(made(1, between(1, 1)) == "nothing");
        CHECK(made(0, between(1, 1)) == kInvalidArgument);
        CHECK(made(1, between(2, 1)) == kInvalidArgument);
    });
}

TEST_CASE("membership on processes, through a FileStore: three rounds, and all finish") {
    // Four nodes go on at once to the next round, until the third, and stay there until the job is finished.
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
