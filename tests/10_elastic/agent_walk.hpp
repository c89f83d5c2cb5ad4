// A game for the model checker: all that can happen to the two workers of an agent, in every order.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/10_elastic/agent_text.hpp"
#include "tests/harness/walk/walk.hpp"

namespace dist::harness {

/// Each look takes one tick of 100 ms, and the grace is two. The model beside the agent's state knows what the workers do in
/// truth, and what the agent has promised.
class AgentGame {
  public:
    struct World {
        AgentState state = {};
        std::vector<int> alive = {};  // local ranks
        int bad = 0;                  // of this round's workers, those that have ended badly
        int failed = 0;               // of them, those that did so before they were told to end
        int paid = 0;
        bool told = false;
        bool all_good = false;  // all of a round, and nobody told them to end
        Ms told_at{0};
        bool killed = false;
        std::optional<AgentEnd> end = {};
        Ms now{0};
    };

    explicit AgentGame(int max_restarts)
        : settings_{.max_restarts = max_restarts, .grace = 2 * kTick} {}

    [[nodiscard]] static World begun() { return {}; }

    [[nodiscard]] std::vector<AgentEvent> events(const World& world) const {
        std::vector<AgentEvent> events;
        if (world.end && world.alive.empty()) {
            return events;
        }
        const bool is_in_round = !world.alive.empty() || world.all_good;
        for (const Kind kind : {Kind::interrupted, Kind::error}) {
            events.push_back({.kind = kind, .at = world.now, .signal = SIGINT, .text = "gone"});
        }
        if (!is_in_round) {
            events.push_back({.kind = Kind::no_round, .at = world.now});
            events.push_back(
                {.kind = Kind::round,
                 .at = world.now,
                 .round = {.number = 1, .first_rank = 4, .workers = kWorkers, .world_size = 9}}
            );
            return events;
        }
        events.push_back({.kind = Kind::changed, .at = world.now});
        if (world.all_good) {
            events.push_back({.kind = Kind::finished, .at = world.now});
        }
        const Ms then = world.now + kTick;
        std::vector<std::vector<WorkerEnd>> ends = {{}};
        for (const int rank :
             world.alive) {  // each lives on, ends well, or badly; one that is killed ends by that
            std::vector<std::vector<WorkerEnd>> more;
            for (const auto& before : ends) {
                const auto with = [&](const WorkerEnd& end) {
                    more.push_back(before);
                    more.back().push_back(end);
                };
                more.push_back(before);
                if (world.killed) {
                    with(dies(rank, SIGKILL, then));
                    continue;
                }
                with(exits(rank, 0, then));
                with(exits(rank, 1, then));
                if (world.told) {  // noticed only now
                    with(exits(rank, 2, world.told_at - 1ms));
                }
            }
            ends = std::move(more);
        }
        for (const auto& some : ends) {
            events.push_back({.kind = Kind::looked, .at = then, .ended = some});
        }
        return events;
    }

    /// Lets the agent decide, and the model with it.
    Verdict happens(World& world, const AgentEvent& event) const {
        const AgentStep got = agent_step(world.state, event, settings_);
        const int signal = expected_signal(world, event);
        world.state = got.state;
        world.now = std::max(world.now, event.at);
        if (got.actions.signal != signal) {
            return Broken{
                "workers are told to end once, and killed after the grace",
                "workers that live get " + text_of(AgentActions{.signal = got.actions.signal}) +
                    ", and not " + text_of(AgentActions{.signal = signal})};
        }
        if (got.actions.start != (event.kind == Kind::round)) {
            return Broken{
                "workers are started when a round begins, and only then",
                "after " + text_of(event) + ": " + text_of(got.actions)};
        }
        if (event.kind == Kind::round && got.state.round != event.round) {
            return Broken{
                "the workers' round is the one that begins",
                "it is round " + std::to_string(got.state.round.number) + ", with first rank " +
                    std::to_string(got.state.round.first_rank)};
        }
        return judged(world, got);
    }

    [[nodiscard]] static Verdict judge(const World& /*world*/) { return {}; }

    [[nodiscard]] static std::string text(const World& /*world*/, const AgentEvent& event) {
        return text_of(event);
    }

    [[nodiscard]] static std::string key(const World& world) {
        const AgentState& state = world.state;
        std::string key = text_of(state.workers) + text_of(state.end);
        for (const int number :
             {state.restarts, static_cast<int>(state.killed), static_cast<int>(world.killed),
              static_cast<int>(world.told),
              world.told ? static_cast<int>(std::min<long>((world.now - world.told_at) / kTick, 3))
                         : 0}) {
            key += " " + std::to_string(number);
        }
        for (const int rank : world.alive) {
            key += " alive " + std::to_string(rank);
        }
        for (const WorkerRecord& record : state.ended) {
            key += " " + text_of(record.fate);
        }
        return key;
    }

  private:
    static constexpr Ms kTick = 100ms;
    static constexpr int kWorkers = 2;

    /// What the model says that living workers get. The rest of the world goes on.
    int expected_signal(World& world, const AgentEvent& event) const {
        const auto end_by = [&](AgentEnd end) { world.end = world.end.value_or(end); };
        bool stops = event.kind == Kind::changed;
        const bool was_told = world.told;
        if (event.kind == Kind::round) {
            world = {.state = world.state, .alive = {0, 1}, .paid = world.paid, .now = world.now};
        } else if (event.kind == Kind::looked) {
            const int bad_before = world.bad;
            for (const WorkerEnd& end : event.ended) {
                std::erase(world.alive, end.local_rank);
                world.bad += end.is_good() ? 0 : 1;
                world.failed += !end.is_good() && (!was_told || end.at < world.told_at) ? 1 : 0;
            }
            if (!was_told && world.bad > bad_before) {
                stops = true;
                if (world.paid < settings_.max_restarts) {
                    ++world.paid;
                } else {
                    end_by(AgentEnd::failed);
                }
            }
            world.all_good = world.all_good || (!was_told && world.alive.empty() && !stops);
        } else if (event.kind == Kind::finished) {
            end_by(AgentEnd::succeeded);
        } else if (event.kind != Kind::changed) {
            end_by(
                event.kind == Kind::no_round      ? AgentEnd::closed
                : event.kind == Kind::interrupted ? AgentEnd::interrupted
                                                  : AgentEnd::error
            );
            stops = true;
        }
        if (stops && !world.told) {
            world.all_good = false;
            if (!world.alive.empty()) {
                world.told = true;
                world.told_at = event.at;
                return event.kind == Kind::interrupted ? event.signal : SIGTERM;
            }
        }
        const bool is_late = world.told && event.at - world.told_at >= settings_.grace;
        if (event.kind == Kind::looked && is_late && !world.killed && !world.alive.empty()) {
            world.killed = true;
            return SIGKILL;
        }
        return 0;
    }

    [[nodiscard]] static Verdict judged(const World& world, const AgentStep& got) {
        const AgentState& state = got.state;
        const auto number = [](auto n) { return std::to_string(n); };
        if (state.alive != static_cast<int>(world.alive.size())) {
            return Broken{
                "the agent knows how many of its workers live",
                number(state.alive) + " alive, and in truth " + number(world.alive.size())};
        }
        if (state.restarts != world.paid) {
            return Broken{
                "a failure costs one restart, and a change of members none",
                "restarts " + number(state.restarts) + ", and in truth " + number(world.paid)};
        }
        if (state.end != world.end) {
            return Broken{
                "the end that came first stays",
                "the end is " + text_of(state.end) + ", and not " + text_of(world.end)};
        }
        if (state.workers != expected_workers(world)) {
            return Broken{
                "the state of the workers is the one of the table",
                "workers are " + text_of(state.workers) + ", and not " +
                    text_of(expected_workers(world))};
        }
        const bool is_over = world.end && world.alive.empty();
        const bool closes =
            is_over && (world.end == AgentEnd::failed || world.end == AgentEnd::succeeded);
        const bool leaves = closes || (is_over && world.end == AgentEnd::interrupted);
        if (got.actions.close != closes || got.actions.leave != leaves) {
            const AgentActions right = {.close = closes, .leave = leaves};
            return Broken{
                "the agent closes and leaves when none of its workers lives, and as its end says",
                "actions: " + text_of(got.actions) + ", and not " + text_of(right)};
        }
        const auto failed =
            std::ranges::count(state.ended, WorkerFate::failed, &WorkerRecord::fate);
        const auto terminated =
            std::ranges::count(state.ended, WorkerFate::terminated, &WorkerRecord::fate);
        if (world.failed != failed || world.bad != failed + terminated) {
            return Broken{
                "the agent knows who of its workers failed, and who ended because it was told to",
                number(failed) + " failed and " + number(terminated) +
                    " terminated, and in truth " + number(world.failed) + " and " +
                    number(world.bad - world.failed)};
        }
        return {};
    }

    [[nodiscard]] static WorkerState expected_workers(const World& world) {
        if (!world.alive.empty()) {
            return world.told ? WorkerState::unhealthy : WorkerState::healthy;
        }
        if (world.all_good) {
            return WorkerState::succeeded;
        }
        return world.end == AgentEnd::failed ? WorkerState::failed : WorkerState::stopped;
    }

    AgentSettings settings_;
};

}  // namespace dist::harness
