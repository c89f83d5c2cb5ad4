// By state and not by event: each state has a function. The loop sleeps before it looks, as torchrun's does.
#include <csignal>
#include <utility>

#include "exercises/10_elastic/elastic_agent.hpp"

namespace dist {
namespace {

using Kind = AgentEvent::Kind;

/// What has come in, and what is to come out.
struct Turn {
    const AgentEvent& event;
    const AgentSettings& settings;
    AgentState state;
    AgentActions actions = {};
};

/// The end that an event means, if it means one.
std::optional<AgentEnd> end_of(Kind kind) {
    switch (kind) {
        case Kind::no_round:
            return AgentEnd::closed;
        case Kind::finished:
            return AgentEnd::succeeded;
        case Kind::interrupted:
            return AgentEnd::interrupted;
        case Kind::error:
            return AgentEnd::error;
        default:
            return std::nullopt;
    }
}

void all_are_gone(Turn& turn) {
    turn.state.workers = WorkerState::stopped;
    if (turn.state.end == AgentEnd::interrupted) {
        turn.actions.leave = true;
    } else if (turn.state.end == AgentEnd::failed) {
        turn.state.workers = WorkerState::failed;
        turn.actions.close = turn.actions.leave = true;
    }
}

void tell_to_end(Turn& turn) {
    if (turn.state.alive == 0) {
        all_are_gone(turn);
        return;
    }
    turn.state.workers = WorkerState::unhealthy;
    turn.state.told_at = turn.event.at;
    turn.state.killed = false;
    turn.actions.signal = turn.event.kind == Kind::interrupted ? turn.event.signal : SIGTERM;
}

void idle(Turn& turn) {
    if (turn.event.kind != Kind::round) {
        all_are_gone(turn);
        return;
    }
    turn.state = {
        .workers = WorkerState::healthy,
        .round = turn.event.round,
        .alive = turn.event.round.workers,
        .restarts = turn.state.restarts};
    turn.actions.start = true;
}

void healthy(Turn& turn) {
    bool is_well = turn.event.kind == Kind::looked;
    for (const WorkerEnd& end : turn.event.ended) {
        --turn.state.alive;
        is_well = is_well && end.is_good();
        turn.state.ended.push_back({end, end.is_good() ? WorkerFate::succeeded : WorkerFate::failed}
        );
    }
    if (is_well) {
        turn.state.workers = turn.state.alive == 0 ? WorkerState::succeeded : WorkerState::healthy;
        return;
    }
    if (turn.event.kind == Kind::looked && turn.state.restarts == turn.settings.max_restarts) {
        turn.state.end = AgentEnd::failed;
    } else if (turn.event.kind == Kind::looked) {
        ++turn.state.restarts;
    }
    tell_to_end(turn);
}

void unhealthy(Turn& turn) {
    for (const WorkerEnd& end : turn.event.ended) {
        --turn.state.alive;
        const WorkerFate bad =
            end.at < turn.state.told_at ? WorkerFate::failed : WorkerFate::terminated;
        turn.state.ended.push_back({end, end.is_good() ? WorkerFate::succeeded : bad});
    }
    const bool is_time = turn.event.at >= turn.state.told_at + turn.settings.grace;
    if (turn.state.alive == 0) {
        all_are_gone(turn);
    } else if (turn.event.kind == Kind::looked && is_time && !turn.state.killed) {
        turn.state.killed = true;
        turn.actions.signal = SIGKILL;
    }
}

void succeeded(Turn& turn) {
    if (turn.event.kind == Kind::finished) {
        turn.actions.close = turn.actions.leave = true;
    } else if (turn.event.kind != Kind::looked) {
        all_are_gone(turn);
    }
}

}  // namespace

AgentStep agent_step(AgentState state, const AgentEvent& event, const AgentSettings& settings) {
    Turn turn = {event, settings, std::move(state)};
    if (!turn.state.end) {
        turn.state.end = end_of(event.kind);
    }
    switch (turn.state.workers) {
        case WorkerState::healthy:
            healthy(turn);
            break;
        case WorkerState::unhealthy:
            unhealthy(turn);
            break;
        case WorkerState::succeeded:
            succeeded(turn);
            break;
        default:
            idle(turn);
    }
    return {std::move(turn.state), turn.actions};
}

ElasticAgent::ElasticAgent(
    Rounds& rounds, WorkerGroup& group, Clock& clock, const AgentSettings& settings, Log log
)
    : rounds_(rounds), group_(group), clock_(clock), settings_(settings), log_(std::move(log)) {
    expects(settings_.max_restarts >= 0, "ElasticAgent: there are no fewer restarts than none");
    expects(settings_.monitor_interval.count() > 0, "ElasticAgent: an interval takes time");
    expects(settings_.grace.count() >= 0, "ElasticAgent: a grace of less than none");
}

void ElasticAgent::apply(const AgentEvent& event) {
    AgentStep step = agent_step(state_, event, settings_);
    const bool is_same = step.state == state_ && step.actions == AgentActions();
    state_ = std::move(step.state);
    if (step.actions.start) {
        group_.start(state_.round, state_.restarts);
    } else if (step.actions.signal != 0) {
        group_.signal(step.actions.signal);
    }
    if (step.actions.leave && !error_) {
        try {
            if (step.actions.close) {
                rounds_.close();
            }
            rounds_.leave();
        } catch (...) {
        }
    }
    if (log_ && !is_same) {
        log_({event, state_.workers, step.actions});
    }
}

void ElasticAgent::ask() {
    if (error_ || is_interrupted()) {
        return;
    }
    AgentEvent event = {.kind = Kind::looked};
    try {
        if (state_.workers == WorkerState::init || state_.workers == WorkerState::stopped) {
            const auto round = rounds_.next();
            event.kind = round ? Kind::round : Kind::no_round;
            event.round = round ? *round : WorkerRound{};
        } else {
            event.kind = rounds_.holds() ? Kind::looked : Kind::changed;
            if (state_.workers == WorkerState::succeeded && rounds_.finish()) {
                event.kind = Kind::finished;
            }
        }
    } catch (const Error& error) {
        error_ = error.what();
        event.kind = Kind::error;
        event.text = *error_;
    }
    event.at = clock_.now();
    if (event.kind != Kind::looked && !is_interrupted()) {
        apply(event);
    }
}

AgentResult ElasticAgent::run() {
    while (!state_.is_over()) {
        ask();
        if (is_interrupted()) {
            apply({.kind = Kind::interrupted, .at = clock_.now(), .signal = signal_});
        }
        if (state_.is_over() || state_.workers == WorkerState::init ||
            state_.workers == WorkerState::stopped) {
            continue;
        }
        clock_.sleep(settings_.monitor_interval);
        std::vector<WorkerEnd> ended;
        if (state_.alive > 0) {
            ended = group_.ended();
        }
        if (is_interrupted()) {
            apply({.kind = Kind::interrupted, .at = clock_.now(), .signal = signal_});
        }
        if (state_.alive > 0) {
            apply({.at = clock_.now(), .ended = ended});
        }
    }
    AgentResult result = {
        .end = *state_.end,
        .round = state_.round,
        .workers = state_.ended,
        .restarts = state_.restarts,
        .error = error_ ? *error_ : ""};
    for (const WorkerRecord& record : state_.ended) {
        const bool has_failed = record.fate == WorkerFate::failed;
        if (has_failed && (!result.cause || record.end.at < result.cause->at)) {
            result.cause = record.end;
        }
    }
    return result;
}

}  // namespace dist
