// Events, one after the other, and what agent_step() makes of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/10_elastic/agent_text.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

inline constexpr AgentActions kNothing = {};
inline constexpr AgentActions kStart = {.start = true};
inline constexpr AgentActions kLeave = {.leave = true};
inline constexpr AgentActions kCloseAndLeave = {.close = true, .leave = true};

inline constexpr AgentActions sends(int signal) {
    return {.signal = signal};
}

class Play {
  public:
    AgentState state;
    AgentActions actions;  // of the last step

    explicit Play(int max_restarts = 3) : settings_{.max_restarts = max_restarts, .grace = 300ms} {}

    Play& step(const AgentEvent& event) {
        AgentStep step = agent_step(state, event, settings_);
        state = std::move(step.state);
        actions = step.actions;
        way_ += (way_.empty() ? "" : "; ") + text_of(event);
        return *this;
    }

    Play& round(int workers = 3) {
        const WorkerRound round = {
            .number = ++rounds_, .first_rank = 4, .workers = workers, .world_size = 9};
        return step({.kind = Kind::round, .round = round});
    }
    Play& look(Ms at, std::vector<WorkerEnd> ended = {}) {
        return step({.kind = Kind::looked, .at = at, .ended = std::move(ended)});
    }
    Play& notice(Kind kind, Ms at = 100ms, int signal = SIGTERM) {
        return step({.kind = kind, .at = at, .signal = signal, .text = "no store"});
    }

    /// Whether this is where it is now, after these actions.
    [[nodiscard]] Comparison is(
        WorkerState workers, const AgentActions& done, std::optional<AgentEnd> end = std::nullopt
    ) const {
        const bool same = state.workers == workers && actions == done && state.end == end;
        return {
            same, "after " + way_ + ": expected " + text_of(workers) + ", " + text_of(end) +
                      ", actions: " + text_of(done) + ". Got " + text_of(state.workers) + ", " +
                      text_of(state.end) + ", actions: " + text_of(actions)};
    }

    [[nodiscard]] Comparison has(int alive, int restarts) const {
        return {
            state.alive == alive && state.restarts == restarts,
            "after " + way_ + ": expected " + std::to_string(alive) + " alive, restarts " +
                std::to_string(restarts) + ". Got " + std::to_string(state.alive) +
                " alive, restarts " + std::to_string(state.restarts)};
    }

    /// Whether these are the fates of the workers that have ended, by local rank.
    [[nodiscard]] Comparison fates(const std::vector<std::pair<int, WorkerFate>>& expected) const {
        for (const auto& [rank, fate] : expected) {
            std::string got = "none";
            for (const WorkerRecord& record : state.ended) {
                if (record.end.local_rank == rank) {
                    got = got == "none" ? text_of(record.fate) : "two";
                }
            }
            if (got != text_of(fate)) {
                return {
                    false, "after " + way_ + ": expected worker " + std::to_string(rank) + " as " +
                               text_of(fate) + ", got " + got};
            }
        }
        return {
            state.ended.size() == expected.size(),
            "after " + way_ + ": expected records of " + std::to_string(expected.size()) +
                " workers, got " + std::to_string(state.ended.size())};
    }

  private:
    AgentSettings settings_;
    std::int64_t rounds_ = 0;
    std::string way_;
};

}  // namespace dist::harness
