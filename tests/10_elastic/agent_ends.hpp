// The ends of an agent: there are no more rounds, the rendezvous throws, or a signal comes.
#pragma once

#include "tests/10_elastic/agent_scripts.hpp"

namespace dist::harness {

inline void no_more_rounds() {
    const Script none = {.waits = 3s, .kind = Script::Kind::none};
    AgentScene scene;
    scene.rounds = {none};
    play(scene, [](const AgentScene& it) {
        CHECK(it.did({"0 ms next"}));
        CHECK(it.ends(AgentEnd::closed, 0));
    });
    scene.rounds = {kCrashing, none};
    play(scene, [](const AgentScene& it) {
        CHECK(it.did({"0 ms next", "0 ms start 1", "200 ms SIGTERM", "300 ms next"}));
        CHECK(it.ends(AgentEnd::closed, 1));
    });
}

inline void the_rendezvous_throws() {
    AgentScene scene;
    scene.rounds = {kCrashing, {.waits = 600s, .kind = Script::Kind::timeout}};
    play(scene, [](const AgentScene& it) {
        CHECK(it.did({"0 ms next", "0 ms start 1", "200 ms SIGTERM", "300 ms next"}));
        CHECK(it.ends(AgentEnd::error, 1));
        CHECK(it.result.error == "no round in time");
    });
    scene.rounds = {{.workers = {kRuns, kIgnores}, .throws = 950ms}};
    play(scene, [](const AgentScene& it) {
        CHECK(it.did({"0 ms next", "0 ms start 1", "1000 ms SIGTERM", "2000 ms SIGKILL"}));
        CHECK(it.ends(AgentEnd::error, 0));
        CHECK(it.result.error == "the store is gone");
    });
    scene.rounds = {{.workers = {kEndsWell}, .finishes = kNever, .throws = 950ms}};
    play(scene, [](const AgentScene& it) { CHECK(it.ends(AgentEnd::error, 0)); });
    scene.rounds = {kCrashing};
    scene.settings.max_restarts = 0;
    scene.throws_at_end = true;
    play(scene, [](const AgentScene& it) { CHECK(it.ends(AgentEnd::failed, 0)); });
}

inline void a_signal_is_passed_on() {
    for (const int signal : {SIGTERM, SIGINT}) {
        AgentScene scene;
        scene.rounds = {{.workers = {kRuns, kIgnores}}};
        scene.signals = {{450ms, signal}};
        play(scene, [&](const AgentScene& it) {
            CHECK(it.did(
                {"0 ms next", "0 ms start 1", "500 ms " + text_of_signal(signal), "1500 ms SIGKILL",
                 "1600 ms leave"}
            ));
            CHECK(it.ends(AgentEnd::interrupted, 0));
            CHECK(it.beats_between(0ms, 1600ms));
        });
    }
}

inline void a_signal_without_workers() {
    AgentScene scene;
    const auto leaves = [&](const Lines& calls) {
        play(scene, [&](const AgentScene& it) {
            CHECK(it.did(calls));
            CHECK(it.ends(AgentEnd::interrupted, 0));
        });
    };
    scene.signals = {{0ms, SIGTERM}};
    leaves({"0 ms leave"});
    scene.signals = {{5s, SIGTERM}};
    scene.rounds = {{.waits = 10s}};
    leaves({"0 ms next", "10000 ms leave"});
    scene.rounds = {{.waits = 10s, .kind = Script::Kind::none}};  // next() may give up at a signal
    leaves({"0 ms next", "10000 ms leave"});
    scene.rounds = {{.waits = 10s, .kind = Script::Kind::timeout}};
    leaves({"0 ms next"});
    scene.rounds = {{.workers = {kEndsWell}, .finishes = kNever}};
    leaves({"0 ms next", "0 ms start 1", "5000 ms leave"});
}

inline void a_signal_while_they_end() {
    AgentScene scene;
    scene.rounds = {{.workers = {kCrashes, kIgnores}}};
    scene.signals = {{650ms, SIGINT}};
    play(scene, [](const AgentScene& it) {
        CHECK(it.did(
            {"0 ms next", "0 ms start 1", "200 ms SIGTERM", "1200 ms SIGKILL", "1300 ms leave"}
        ));
        CHECK(it.ends(AgentEnd::interrupted, 1));
    });
}

inline void they_died_of_the_signal() {
    AgentScene scene;
    scene.rounds = {{.workers = {{.ends = 450ms, .signal = SIGTERM}, kRuns}}};
    scene.signals = {{450ms, SIGTERM}};
    play(scene, [](const AgentScene& it) {
        CHECK(it.did({"0 ms next", "0 ms start 1", "500 ms SIGTERM", "600 ms leave"}));
        CHECK(it.ends(AgentEnd::interrupted, 0));
    });
    scene.signals_in_ended = true;
    for (const int max_restarts : {3, 0}) {
        INFO("the signal comes in ended(); max_restarts " << max_restarts);
        scene.settings.max_restarts = max_restarts;
        play(scene, [](const AgentScene& it) {
            CHECK(it.did({"0 ms next", "0 ms start 1", "500 ms SIGTERM", "600 ms leave"}));
            CHECK(it.ends(AgentEnd::interrupted, 0));
        });
    }
}

}  // namespace dist::harness
