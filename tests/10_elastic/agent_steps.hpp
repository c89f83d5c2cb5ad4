// What agent_step() has to make of each event, in each state.
#pragma once

#include <utility>

#include "tests/10_elastic/agent_play.hpp"
#include "tests/10_elastic/agent_walk.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using State = WorkerState;
using Fate = WorkerFate;

inline void begins() {
    Play play;
    CHECK(play.round(3).is(State::healthy, kStart));
    CHECK(play.has(3, 0));
    INFO("the state's round has to be the one that begins");
    CHECK((play.state.round.number == 1 && play.state.round.first_rank == 4));
    Play none;
    CHECK(none.notice(Kind::no_round).is(State::stopped, kNothing, AgentEnd::closed));
    CHECK(none.state.is_over());
}

inline void all_end_well() {
    Play play;
    play.round(3);
    CHECK(play.look(100ms).is(State::healthy, kNothing));
    CHECK(play.look(200ms, {exits(1, 0, 150ms)}).is(State::healthy, kNothing));
    CHECK(play.has(2, 0));
    CHECK(play.look(300ms, {exits(2, 0, 290ms)}).is(State::healthy, kNothing));
    CHECK(play.look(400ms, {exits(0, 0, 310ms)}).is(State::succeeded, kNothing));
    CHECK(play.look(500ms).is(State::succeeded, kNothing));
    CHECK(play.notice(Kind::finished).is(State::succeeded, kCloseAndLeave, AgentEnd::succeeded));
    CHECK(play.state.is_over());
}

inline void a_failure_costs_one() {
    Play play(3);
    play.round(4);
    CHECK(play.look(100ms, {exits(2, 7, 90ms), exits(3, 0, 80ms)})
              .is(State::unhealthy, sends(SIGTERM)));
    CHECK(play.has(2, 1));
    CHECK(play.look(200ms, {exits(0, 1, 95ms)}).is(State::unhealthy, kNothing));
    CHECK(play.has(1, 1));
    CHECK(play.look(300ms, {dies(1, SIGTERM, 210ms)}).is(State::stopped, kNothing));
    CHECK(play.has(0, 1));
    CHECK(play.round(2).is(State::healthy, kStart));
    CHECK(play.has(2, 1));
    INFO("records are those of the round's own workers");
    CHECK(play.fates({}));
    CHECK(play.look(400ms, {exits(0, 1, 350ms), exits(1, 1, 340ms)}).is(State::stopped, kNothing));
    CHECK(play.has(0, 2));
}

inline void the_budget_ends() {
    Play play(0);
    play.round(2);
    CHECK(
        play.look(100ms, {exits(1, 1, 90ms)}).is(State::unhealthy, sends(SIGTERM), AgentEnd::failed)
    );
    CHECK(!play.state.is_over());
    CHECK(play.notice(Kind::changed).is(State::unhealthy, kNothing, AgentEnd::failed));
    CHECK(play.look(200ms, {exits(0, 0, 190ms)}).is(State::failed, kCloseAndLeave, AgentEnd::failed)
    );
    CHECK(play.state.is_over());
    CHECK(play.has(0, 0));
    Play alone(1);
    alone.round(1).look(100ms, {dies(0, SIGKILL, 90ms)}).round(1);
    CHECK(alone.look(200ms, {dies(0, SIGKILL, 190ms)})
              .is(State::failed, kCloseAndLeave, AgentEnd::failed));
    CHECK(alone.has(0, 1));
}

inline void a_change_costs_nothing() {
    Play play(1);
    play.round(2);
    CHECK(play.notice(Kind::changed).is(State::unhealthy, sends(SIGTERM)));
    CHECK(play.notice(Kind::changed, 200ms).is(State::unhealthy, kNothing));
    CHECK(
        play.look(300ms, {dies(0, SIGTERM, 210ms), exits(1, 1, 220ms)}).is(State::stopped, kNothing)
    );
    CHECK(play.has(0, 0));
    play.round(2).look(400ms, {exits(0, 0, 310ms), exits(1, 0, 320ms)});
    CHECK(play.notice(Kind::changed).is(State::stopped, kNothing));
    CHECK(play.has(0, 0));
}

inline void grace_then_sigkill() {
    Play play;
    play.round(3).look(100ms, {exits(0, 1, 90ms)});
    CHECK(play.look(399ms).is(State::unhealthy, kNothing));
    CHECK(play.notice(Kind::changed, 399ms).is(State::unhealthy, kNothing));
    CHECK(play.look(400ms, {dies(1, SIGTERM, 395ms)}).is(State::unhealthy, sends(SIGKILL)));
    CHECK(play.look(500ms).is(State::unhealthy, kNothing));
    CHECK(play.look(600ms, {dies(2, SIGKILL, 510ms)}).is(State::stopped, kNothing));
    play.round(2).look(700ms, {exits(0, 1, 690ms)});
    CHECK(play.look(900ms).is(State::unhealthy, kNothing));
    INFO("the second round has its own grace, and its own SIGKILL");
    CHECK(play.look(1000ms).is(State::unhealthy, sends(SIGKILL)));
    Play in_time;
    in_time.round(2).look(100ms, {exits(0, 1, 90ms)});
    CHECK(in_time.look(400ms, {dies(1, SIGTERM, 350ms)}).is(State::stopped, kNothing));
}

inline void fates() {
    Play play;
    play.round(6).look(100ms, {exits(0, 1, 90ms), exits(1, 0, 95ms)});
    CHECK(play.fates({{0, Fate::failed}, {1, Fate::succeeded}}));
    play.look(200ms, {exits(2, 1, 99ms), dies(3, SIGTERM, 110ms), exits(4, 143, 120ms)});
    play.look(300ms, {exits(5, 0, 290ms)});
    CHECK(play.fates(
        {{0, Fate::failed},
         {1, Fate::succeeded},
         {2, Fate::failed},
         {3, Fate::terminated},
         {4, Fate::terminated},
         {5, Fate::succeeded}}
    ));
}

inline void is_interrupted() {
    for (const auto& [kind, end] :
         {std::pair(Kind::interrupted, AgentEnd::interrupted),
          std::pair(Kind::error, AgentEnd::error)}) {
        const bool by_signal = kind == Kind::interrupted;
        const AgentActions at_end = by_signal ? kLeave : kNothing;
        Play first;
        CHECK(first.notice(kind).is(State::stopped, at_end, end));
        Play running;
        running.round(2);
        CHECK(running.notice(kind, 100ms, SIGINT)
                  .is(State::unhealthy, sends(by_signal ? SIGINT : SIGTERM), end));
        CHECK(running.look(200ms, {dies(0, SIGINT, 120ms)}).is(State::unhealthy, kNothing, end));
        CHECK(running.look(400ms).is(State::unhealthy, sends(SIGKILL), end));
        CHECK(running.look(500ms, {dies(1, SIGKILL, 410ms)}).is(State::stopped, at_end, end));
        CHECK(running.has(0, 0));
        Play stopping;
        stopping.round(2).look(100ms, {exits(0, 1, 90ms)});
        CHECK(stopping.notice(kind, 200ms).is(State::unhealthy, kNothing, end));
        CHECK(stopping.look(300ms, {dies(1, SIGTERM, 210ms)}).is(State::stopped, at_end, end));
        Play waiting;
        waiting.round(1).look(100ms, {exits(0, 0, 90ms)});
        CHECK(waiting.notice(kind).is(State::stopped, at_end, end));
    }
}

inline void the_first_end_counts() {
    Play play(0);
    play.round(2).look(100ms, {exits(0, 1, 90ms)});
    CHECK(play.notice(Kind::interrupted, 150ms).is(State::unhealthy, kNothing, AgentEnd::failed));
    CHECK(play.notice(Kind::error, 160ms).is(State::unhealthy, kNothing, AgentEnd::failed));
    CHECK(play.look(200ms, {dies(1, SIGTERM, 190ms)})
              .is(State::failed, kCloseAndLeave, AgentEnd::failed));
}

inline void every_order() {
    for (const int max_restarts : {0, 1, 2}) {
        INFO("max_restarts " << max_restarts);
        const Walked walked = walk(AgentGame(max_restarts));
        const Comparison result = compared(walked);
        REQUIRE(result);
        INFO("worlds that the walk came to: " << walked.states);
        CHECK(walked.states > 30);
    }
}

inline void is_a_function() {
    const AgentSettings settings = {.max_restarts = 1, .grace = 300ms};
    const AgentEvent fails = {.kind = Kind::looked, .at = 100ms, .ended = {exits(0, 1, 90ms)}};
    Play play;
    const AgentState state = play.round(2).state;
    const AgentStep once = agent_step(state, fails, settings);
    (void
    )agent_step(once.state, {.kind = Kind::interrupted, .at = 150ms, .signal = SIGINT}, settings);
    const AgentStep again = agent_step(state, fails, settings);
    INFO("the same state, event and settings, and another call between");
    CHECK((once.state == again.state && once.actions == again.actions));
}

}  // namespace dist::harness
