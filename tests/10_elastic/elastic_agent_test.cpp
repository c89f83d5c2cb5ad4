// What the agent of a node must do. First what it decides, event by event, and in every order of events; then its loop, in a
// time that costs none, where workers, other nodes and the user act by a script; at the end its workers are real processes.
#include "exercises/10_elastic/elastic_agent.hpp"

#include <functional>
#include <string>

#include "tests/10_elastic/agent_ends.hpp"
#include "tests/10_elastic/agent_job.hpp"
#include "tests/10_elastic/agent_processes.hpp"
#include "tests/10_elastic/agent_scripts.hpp"
#include "tests/10_elastic/agent_steps.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

void on_one_rank(void (*test)()) {
    on_ranks({1}, [&](const Communicator&) { test(); });
}

}  // namespace

TEST_CASE("agent_step: a round starts its workers, and where there is none any more the agent ends"
) {
    on_one_rank(begins);
}

TEST_CASE("agent_step: workers have succeeded when the last of them has ended well, not before") {
    on_one_rank(all_end_well);
}

TEST_CASE("agent_step: a failure costs one restart, and the others are told to end, once") {
    on_one_rank(a_failure_costs_one);
}

TEST_CASE("agent_step: where no restart is left, the others end, and then it closes and leaves") {
    on_one_rank(the_budget_ends);
}

TEST_CASE("agent_step: a change of members ends the workers, and costs nothing") {
    on_one_rank(a_change_costs_nothing);
}

TEST_CASE("agent_step: who lives when the grace is over gets SIGKILL, once") {
    on_one_rank(grace_then_sigkill);
}

TEST_CASE("agent_step: who ended badly by itself has failed; who was told to end is terminated") {
    on_one_rank(fates);
}

TEST_CASE("agent_step: a signal, or an error of the rendezvous, ends the agent from every state") {
    on_one_rank(is_interrupted);
}

TEST_CASE("agent_step: the first end counts") {
    on_one_rank(the_first_end_counts);
}

TEST_CASE("agent_step: whatever happens to two workers, in every order, it keeps what it promises"
) {
    on_one_rank(every_order);
}

TEST_CASE("agent_step: the same arguments have the same result") {
    on_one_rank(is_a_function);
}

TEST_CASE("ElasticAgent: workers that all ended well wait for those of other nodes, and it beats") {
    on_ranks({1}, [](const Communicator&) {
        AgentScene scene;
        scene.rounds = {{.workers = {{.ends = 300ms}, {.ends = 500ms}}, .finishes = 20s}};
        play(scene, [](const AgentScene& it) {
            CHECK(it.did({"0 ms next", "0 ms start 1", "20000 ms close", "20000 ms leave"}));
            CHECK(it.ends(AgentEnd::succeeded, 0));
            CHECK(it.beats_between(0ms, 20s));
            CHECK(it.result.workers.size() == 2);
            CHECK(it.cause_is(std::nullopt));
        });
    });
}

TEST_CASE("ElasticAgent: where all have finished, nodes that have gone are no change of members") {
    on_ranks({1}, [](const Communicator&) {
        AgentScene scene;
        scene.rounds = {{.workers = {kEndsWell}, .breaks = 5s, .finishes = 5s}};
        play(scene, [](const AgentScene& it) { CHECK(it.ends(AgentEnd::succeeded, 0)); });
    });
}

TEST_CASE("ElasticAgent: a change of members while it waits for others starts all workers again") {
    on_ranks({1}, [](const Communicator&) {
        AgentScene scene;
        scene.rounds = {
            {.workers = {kEndsWell, kEndsWell}, .breaks = 2s, .finishes = kNever}, kGood};
        play(scene, [](const AgentScene& it) {
            CHECK(it.did(
                {"0 ms next", "0 ms start 1", "2000 ms next", "2000 ms start 2", "2300 ms close",
                 "2300 ms leave"}
            ));
            CHECK(it.ends(AgentEnd::succeeded, 0));
        });
    });
}

TEST_CASE("ElasticAgent: the cause is who failed first, not who was noticed first") {
    on_ranks({1}, [](const Communicator&) {
        AgentScene scene;
        scene.settings.max_restarts = 0;
        scene.rounds = {
            {.workers = {
                 {.ends = 190ms, .exit_code = 1},
                 {.ends = 150ms, .exit_code = 2},
                 {.ends = 110ms},
                 {.ends = 170ms, .signal = SIGKILL}}}};
        play(scene, [](const AgentScene& it) { CHECK(it.cause_is(exits(1, 2, 150ms))); });
        scene.rounds = {
            {.workers = {
                 {.ends = 250ms, .exit_code = 1},
                 {.ends = 180ms, .signal = SIGSEGV, .noticed = 200ms},
                 {.ends = 290ms, .exit_code = 1, .noticed = 100ms},
                 {.told_exit = 9}}}};
        INFO("worker 1 was noticed after worker 0 had failed, and the others were told to end");
        play(scene, [](const AgentScene& it) { CHECK(it.cause_is(dies(1, SIGSEGV, 180ms))); });
    });
}

TEST_CASE("ElasticAgent: those that the agent ended are terminated, and not failed") {
    on_ranks({1}, [](const Communicator&) {
        AgentScene scene;
        scene.settings.max_restarts = 0;
        scene.rounds = {
            {.workers = {
                 {.ends = 100ms},
                 kRuns,
                 kCrashes,
                 {.told_exit = 143},
                 {.told_exit = 0},
                 kIgnores}}};
        play(scene, [](const AgentScene& it) {
            const std::vector<WorkerFate> fates = {WorkerFate::succeeded, WorkerFate::terminated,
                                                   WorkerFate::failed,    WorkerFate::terminated,
                                                   WorkerFate::succeeded, WorkerFate::terminated};
            REQUIRE(it.result.workers.size() == fates.size());
            for (const auto& [end, fate] : it.result.workers) {
                const WorkerFate right = fates.at(static_cast<std::size_t>(end.local_rank));
                const Comparison same = {
                    fate == right,
                    text_of(end) + ": expected " + text_of(right) + ", got " + text_of(fate)};
                CHECK(same);
            }
            CHECK(it.cause_is(exits(2, 1, 150ms)));
        });
    });
}

TEST_CASE(
    "ElasticAgent: it ends all workers, with grace, and beats meanwhile, before the next round"
) {
    on_ranks({1}, [](const Communicator&) {
        AgentScene scene;
        scene.rounds = {{.workers = {kCrashes, kIgnores, kRuns}}, kGood};
        play(scene, [](const AgentScene& it) {
            CHECK(it.did(
                {"0 ms next", "0 ms start 1", "200 ms SIGTERM", "1200 ms SIGKILL", "1300 ms next",
                 "1300 ms start 2", "1600 ms close", "1600 ms leave"}
            ));
            CHECK(it.ends(AgentEnd::succeeded, 1));
            CHECK(it.beats_between(0ms, 1300ms));
        });
    });
}

TEST_CASE("ElasticAgent: after max_restarts restarts the next failure ends it, and the rendezvous"
) {
    on_ranks({1}, [](const Communicator&) {
        for (const int max_restarts : {0, 1, 3}) {
            AgentScene scene;
            scene.settings.max_restarts = max_restarts;
            std::vector<int> restarts;
            Lines calls;
            Ms now{0};
            for (int i = 0; i <= max_restarts; ++i, now += 300ms) {
                scene.rounds.push_back(kCrashing);
                restarts.push_back(i);
                calls.push_back(text_of(now) + " next");
                calls.push_back(text_of(now) + " start " + std::to_string(i + 1));
                calls.push_back(text_of(now + 200ms) + " SIGTERM");
            }
            calls.push_back(text_of(now) + " close");
            calls.push_back(text_of(now) + " leave");
            INFO("max_restarts is " << max_restarts);
            play(scene, [&](const AgentScene& it) {
                CHECK(it.did(calls));
                CHECK(it.ends(AgentEnd::failed, max_restarts));
                CHECK(it.told(restarts));
                CHECK(it.cause_is(exits(0, 1, now - 150ms)));
                CHECK(it.result.round.number == max_restarts + 1);
            });
        }
    });
}

TEST_CASE("ElasticAgent: changes of members cost no restart, and are none to the workers") {
    on_ranks({1}, [](const Communicator&) {
        AgentScene scene;
        scene.settings.max_restarts = 1;
        const Script broken = {.workers = {kRuns, kRuns}, .breaks = 250ms};
        scene.rounds = {broken, broken, broken, broken, kCrashing, broken, kGood};
        play(scene, [](const AgentScene& it) {
            CHECK(it.ends(AgentEnd::succeeded, 1));
            CHECK(it.told({0, 0, 0, 0, 0, 1, 1}));
        });
    });
}

TEST_CASE("ElasticAgent: where no more rounds begin it ends, and closes and leaves nothing") {
    on_one_rank(no_more_rounds);
}

TEST_CASE("ElasticAgent: an Error of the rendezvous ends the workers and the agent, and is the last"
) {
    on_one_rank(the_rendezvous_throws);
}

TEST_CASE(
    "ElasticAgent: a signal to it is passed on, and it leaves when all have ended, open behind it"
) {
    on_one_rank(a_signal_is_passed_on);
}

TEST_CASE("ElasticAgent: a signal that comes while there are no workers starts none") {
    on_one_rank(a_signal_without_workers);
}

TEST_CASE("ElasticAgent: a signal while workers end for a restart: they end, and no round follows"
) {
    on_one_rank(a_signal_while_they_end);
}

TEST_CASE("ElasticAgent: workers that died of the signal that it got as well are no failure") {
    on_one_rank(they_died_of_the_signal);
}

TEST_CASE("ElasticAgent: it looks at its workers once an interval, by its clock") {
    on_ranks({1}, [](const Communicator&) {
        for (const Ms interval : {100ms, 250ms}) {
            AgentScene scene;
            scene.settings.monitor_interval = interval;
            scene.rounds = {{.workers = {{.ends = 100 * interval}}, .finishes = 120 * interval}};
            play(scene, [&](const AgentScene& it) {
                INFO("looks: " << it.looks.size() << ", sleeps: " << it.sleeps.size());
                CHECK(std::ranges::count(it.sleeps, interval) == std::ssize(it.sleeps));
                CHECK((99 <= it.looks.size() && it.looks.size() <= 122));
                CHECK((119 <= it.sleeps.size() && it.sleeps.size() <= 122));
            });
        }
    });
}

TEST_CASE("ElasticAgent: the log is told each event that changed something, with what it did") {
    on_ranks({1}, [](const Communicator&) {
        AgentScene scene;
        scene.rounds = {kCrashing, kGood};
        play(scene, [](const AgentScene& it) {
            Lines got;
            for (const auto& [event, workers, actions] : it.log) {
                got.push_back(text_of(event) + " -> " + text_of(workers) + ", " + text_of(actions));
            }
            const std::string both_end =
                "looked at 600 ms, worker 0 exited with 0 at 550 ms, worker 1 "
                "exited with 0 at 550 ms -> succeeded, nothing";
            const Lines expected = {
                "round -> healthy, start",
                "looked at 200 ms, worker 0 exited with 1 at 150 ms -> unhealthy, SIGTERM",
                "looked at 300 ms, worker 1 died of SIGTERM at 220 ms -> stopped, nothing",
                "round -> healthy, start",
                both_end,
                "finished -> succeeded, close, leave"};
            std::string text;
            for (const std::string& line : got) {
                text += line + "\n";
            }
            INFO("the log:\n" << text);
            CHECK(got == expected);
        });
    });
}

TEST_CASE("ElasticAgent on three nodes: a failure on one starts all again, and costs that one alone"
) {
    on_one_rank(one_pays_for_all);
}

TEST_CASE("ElasticAgent on three nodes: when one gives up, the others end as well") {
    on_one_rank(one_gives_up);
}

TEST_CASE("ElasticAgent on three nodes: one is told to end, and the others go on without it") {
    on_one_rank(one_is_told_to_end);
}

TEST_CASE("ElasticAgent on three nodes: one comes late, and all go on together") {
    on_one_rank(one_comes_late);
}

TEST_CASE("ElasticAgent on three nodes: those that are done wait for the one that takes longer") {
    on_one_rank(one_takes_longer);
}

TEST_CASE("ElasticAgent: it refuses settings that make no sense") {
    on_ranks({1}, [](const Communicator&) {
        const auto make = [](const AgentSettings& settings) {
            OneNode node(1);
            WorkerProcesses group({"true"});
            SteadyClock clock;
            const ElasticAgent agent(node, group, clock, settings);
        };
        CHECK_NOTHROW(make({.max_restarts = 0, .monitor_interval = 1ms, .grace = 0ms}));
        CHECK_THROWS_AS(make({.max_restarts = -1}), std::invalid_argument);
        CHECK_THROWS_AS(make({.monitor_interval = 0ms}), std::invalid_argument);
        CHECK_THROWS_AS(make({.grace = -1ms}), std::invalid_argument);
    });
}

TEST_CASE("ElasticAgent on processes: workers know their ranks, and after a restart the next round"
) {
    on_one_rank(workers_have_an_environment);
}

TEST_CASE("ElasticAgent on processes: who ignores SIGTERM is killed, and who is stopped ends too") {
    on_one_rank(workers_end_by_all_means);
}

TEST_CASE("ElasticAgent on processes: each worker is noted with the time when it ended") {
    on_one_rank(workers_tell_when_they_ended);
}

TEST_CASE("ElasticAgent on processes: the agent is killed, and no process of its workers is left") {
    on_one_rank(workers_end_with_the_agent);
}
