#include "exercises/10_elastic/elastic_agent.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dist {
namespace {

using Kind = AgentEvent::Kind;

bool is_in_round(const AgentState& state) {
    const bool is_out = state.workers == WorkerState::init || state.workers == WorkerState::stopped;
    return !is_out && !state.is_over();
}

WorkerFate fate_of(const WorkerEnd& end, const AgentState& state) {
    if (end.is_good()) {
        return WorkerFate::succeeded;
    }
    const bool was_told = state.workers == WorkerState::unhealthy && end.at >= state.told_at;
    return was_told ? WorkerFate::terminated : WorkerFate::failed;
}

/// Notes who has ended. Returns whether one has failed.
bool note(AgentState& state, const std::vector<WorkerEnd>& ended) {
    bool has_failed = false;
    for (const WorkerEnd& end : ended) {
        const WorkerFate fate = fate_of(end, state);
        state.ended.push_back({end, fate});
        has_failed = has_failed || fate == WorkerFate::failed;
    }
    state.alive -= static_cast<int>(ended.size());
    return has_failed;
}

/// Of those that failed, the first by its own time, and not by when it was noticed.
std::optional<WorkerEnd> cause_of(const std::vector<WorkerRecord>& workers) {
    std::optional<WorkerEnd> first;
    for (const auto& [end, fate] : workers) {
        if (fate == WorkerFate::failed && (!first || end.at < first->at)) {
            first = end;
        }
    }
    return first;
}

/// When none live any more: what is to be done, if this is the end.
void settle(AgentStep& step) {
    if (step.state.alive > 0) {
        return;
    }
    const bool is_failed = step.state.end == AgentEnd::failed;
    step.state.workers = is_failed ? WorkerState::failed : WorkerState::stopped;
    step.actions.close = is_failed;
    step.actions.leave = is_failed || step.state.end == AgentEnd::interrupted;
}

/// Tells the workers to end, where they have not been told before.
void stop(AgentStep& step, int signal, Clock::Duration at) {
    if (step.state.workers == WorkerState::healthy && step.state.alive > 0) {
        step.state.workers = WorkerState::unhealthy;
        step.state.told_at = at;
        step.state.killed = false;
        step.actions.signal = signal;
    }
    settle(step);
}

void end_by(AgentStep& step, AgentEnd end) {
    step.state.end = step.state.end.value_or(end);
}

void look(AgentStep& step, const AgentEvent& event, const AgentSettings& settings) {
    AgentState& state = step.state;
    const bool has_failed = note(state, event.ended);
    if (state.workers == WorkerState::healthy && has_failed) {
        if (state.restarts < settings.max_restarts) {
            ++state.restarts;
        } else {
            end_by(step, AgentEnd::failed);
        }
        stop(step, SIGTERM, event.at);
    } else if (state.workers == WorkerState::healthy && state.alive == 0) {
        state.workers = WorkerState::succeeded;
    } else if (state.workers == WorkerState::unhealthy) {
        settle(step);
        if (state.alive > 0 && !state.killed && event.at - state.told_at >= settings.grace) {
            state.killed = true;
            step.actions.signal = SIGKILL;
        }
    }
}

}  // namespace

AgentStep agent_step(AgentState state, const AgentEvent& event, const AgentSettings& settings) {
    AgentStep step{std::move(state), {}};
    switch (event.kind) {
        case Kind::round:
            step.state.workers = WorkerState::healthy;
            step.state.round = event.round;
            step.state.alive = event.round.workers;
            step.state.ended.clear();
            step.actions.start = true;
            break;
        case Kind::no_round:
            end_by(step, AgentEnd::closed);
            settle(step);
            break;
        case Kind::looked:
            look(step, event, settings);
            break;
        case Kind::changed:
            stop(step, SIGTERM, event.at);
            break;
        case Kind::finished:
            end_by(step, AgentEnd::succeeded);
            step.actions.close = step.actions.leave = true;
            break;
        case Kind::interrupted:
            end_by(step, AgentEnd::interrupted);
            stop(step, event.signal, event.at);
            break;
        case Kind::error:
            end_by(step, AgentEnd::error);
            stop(step, SIGTERM, event.at);
            break;
    }
    return step;
}

ElasticAgent::ElasticAgent(
    Rounds& rounds, WorkerGroup& group, Clock& clock, const AgentSettings& settings, Log log
)
    : rounds_(rounds), group_(group), clock_(clock), settings_(settings), log_(std::move(log)) {
    expects(settings.max_restarts >= 0, "ElasticAgent: max_restarts must be at least 0");
    expects(
        settings.monitor_interval > Clock::Duration(0),
        "ElasticAgent: monitor_interval must be more than 0"
    );
    expects(settings.grace >= Clock::Duration(0), "ElasticAgent: grace must be at least 0");
}

void ElasticAgent::apply(const AgentEvent& event) {
    AgentStep step = agent_step(state_, event, settings_);
    const auto& [start, signal, close, leave] = step.actions;
    const bool is_news = step.state != state_ || step.actions != AgentActions{};
    state_ = std::move(step.state);
    if (start) {
        group_.start(state_.round, state_.restarts);
    }
    if (signal != 0) {
        group_.signal(signal);
    }
    try {
        if (close && !error_) {
            rounds_.close();
        }
        if (leave && !error_) {
            rounds_.leave();
        }
    } catch (...) {  // this is the end, and nobody can be told
    }
    if (is_news && log_) {
        log_({event, state_.workers, step.actions});
    }
}

void ElasticAgent::ask() {
    AgentEvent event;
    try {
        if (!is_in_round(state_)) {
            const std::optional<WorkerRound> round = rounds_.next();
            event.kind = round ? Kind::round : Kind::no_round;
            event.round = round.value_or(WorkerRound{});
        } else if (const bool holds = rounds_.holds();
                   // first: who has gone by now may have gone because all have finished
                   state_.workers == WorkerState::succeeded && rounds_.finish()) {
            event.kind = Kind::finished;
        } else if (!holds) {
            event.kind = Kind::changed;
        } else {
            return;
        }
    } catch (const Error& error) {
        error_ = error.what();
        event.kind = Kind::error;
        event.text = error.what();
    }
    event.at = clock_.now();
    if (!is_interrupted()) {
        apply(event);
    }
}

AgentResult ElasticAgent::run() {
    while (!state_.is_over()) {
        const bool has_round = is_in_round(state_);
        const auto ended = has_round ? group_.ended() : std::vector<WorkerEnd>{};
        if (is_interrupted()) {  // before what ended: workers that died of it cost nothing
            apply({.kind = Kind::interrupted, .at = clock_.now(), .signal = signal_});
        }
        if (state_.is_over()) {
            break;
        }
        if (!has_round) {
            ask();
            continue;
        }
        apply({.kind = Kind::looked, .at = clock_.now(), .ended = ended});
        if (is_in_round(state_) && !error_) {
            ask();
        }
        if (is_in_round(state_)) {
            clock_.sleep(settings_.monitor_interval);
        }
    }
    return {
        .end = *state_.end,
        .round = state_.round,
        .workers = state_.ended,
        .cause = cause_of(state_.ended),
        .restarts = state_.restarts,
        .error = error_.value_or("")};
}

}  // namespace dist
