// Makes one change a write: who is dead first, then the heartbeat, then the wish, and the number of
// the round in a write of its own. Forgets the nodes that are on no list.
#include <algorithm>
#include <set>
#include <utility>

#include "course/runtime/deadline.hpp"
#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

namespace dist {
namespace {

using State = RendezvousState;

std::set<std::string> dead_in(const State& state, const NodeView& view) {
    std::set<std::string> dead;
    for (const auto* list : {&state.members, &state.waiting}) {
        for (const auto& [name, count] : *list) {
            if (name != view.name &&
                view.time - view.beats.at(name).since >= view.settings.dead_after) {
                dead.insert(name);
            }
        }
    }
    return dead;
}

State without(State state, const std::string& name) {
    state.members.erase(name);
    state.waiting.erase(name);
    if (state.complete() && state.members.empty()) {
        state.ranks.clear();
        state.round += 1;
    }
    return state;
}

State with_ranks(State state) {
    std::set<std::string> names;
    for (const auto& member : state.members) {
        names.insert(member.first);
    }
    state.ranks.assign(names.begin(), names.end());
    return state;
}

Decision written(State state) {
    return {std::move(state), Action::write};
}

Decision join(const State& state, const NodeView& view) {
    const RendezvousSettings& settings = view.settings;
    const bool is_member = state.members.count(view.name) > 0;
    const bool is_waiting = state.waiting.count(view.name) > 0;
    const std::int64_t beat = view.seen(view.name).count + 1;
    if (state.closed) {
        return {state, Action::closed};
    }
    if (state.complete() && is_member && view.round < state.round) {
        return {state, Action::done};
    }
    if (view.deadline <= view.time) {
        return is_member || is_waiting ? written(without(state, view.name))
                                       : Decision{state, Action::timed_out};
    }
    if (state.complete()) {
        if (is_waiting) {
            return {state, Action::wait};
        }
        State next = without(state, view.name);
        next.waiting[view.name] = beat;
        return written(next);
    }
    const auto min = static_cast<std::size_t>(settings.min_nodes);
    if (!is_member) {
        State next = without(state, view.name);
        next.members[view.name] = beat;
        next.last_call += next.members.size() == min ? 1 : 0;
        const bool is_full = next.members.size() == static_cast<std::size_t>(settings.max_nodes);
        return written(is_full ? with_ranks(next) : next);
    }
    const bool is_over = view.time - view.last_call.since >= settings.last_call;
    if (state.members.size() >= min && is_over) {
        return written(with_ranks(state));
    }
    return {state, Action::wait};
}

Decision stay(const State& state, const NodeView& view) {
    const bool is_mine = state.complete() && state.round == view.round;
    bool holds = is_mine && state.members.count(view.name) > 0;
    for (const std::string& name : state.ranks) {
        holds = holds && state.members.count(name) > 0;
    }
    const bool is_full = static_cast<int>(state.members.size()) >= view.settings.max_nodes;
    holds = holds && (is_full || state.waiting.empty());
    return {state, holds ? Action::done : Action::new_round};
}

}  // namespace

NodeView observe(NodeView view, const RendezvousState& state, Clock::Duration now) {
    if (view.looked && now > *view.looked) {
        view.time += std::min(now - *view.looked, view.settings.heartbeat);
    }
    view.looked = now;
    std::map<std::string, NodeView::Seen> beats;
    beats[view.name] = view.seen(view.name);
    for (const auto* list : {&state.members, &state.waiting}) {
        for (const auto& [name, count] : *list) {
            const auto found = view.beats.find(name);
            const bool is_known = found != view.beats.end() && found->second.count == count;
            beats[name] = is_known ? found->second : NodeView::Seen{count, view.time};
        }
    }
    view.beats = beats;
    if (view.last_call.count != state.last_call) {
        view.last_call = {state.last_call, view.time};
    }
    return view;
}

Decision decide(const RendezvousState& state, const NodeView& view, Wish wish) {
    State living = state;
    for (const std::string& name : dead_in(state, view)) {
        living = without(living, name);
    }
    if (living != state) {
        return written(living);
    }
    for (auto list : {&State::members, &State::waiting}) {
        const auto own = (state.*list).find(view.name);
        if (own != (state.*list).end() &&
            view.time - view.beats.at(view.name).since >= view.settings.heartbeat) {
            State next = state;
            (next.*list)[view.name] = view.beats.at(view.name).count + 1;
            return written(next);
        }
    }
    State next = state;
    switch (wish) {
        case Wish::join:
            return join(state, view);
        case Wish::stay:
            return stay(state, view);
        case Wish::leave:
            next = without(state, view.name);
            break;
        case Wish::close:
            next.closed = true;
            next.waiting = {};
            break;
    }
    return {next, next == state ? Action::done : Action::write};
}

Rendezvous::Rendezvous(
    Store& store,
    std::string key,
    std::string name,
    const RendezvousSettings& settings,
    Clock& clock
)
    : store_(store), key_(std::move(key)), clock_(clock) {
    expects(settings.min_nodes >= 1, "Rendezvous: min_nodes must be at least 1");
    expects(
        settings.max_nodes >= settings.min_nodes, "Rendezvous: max_nodes must be at least min_nodes"
    );
    expects(settings.poll > Clock::Duration::zero(), "Rendezvous: poll must be more than 0");
    expects(settings.poll <= settings.heartbeat, "Rendezvous: poll must be at most a heartbeat");
    expects(
        settings.heartbeat < settings.dead_after,
        "Rendezvous: a heartbeat must be less than dead_after"
    );
    view_.name = std::move(name);
    view_.settings = settings;
}

Decision Rendezvous::run(Wish wish) {
    while (true) {
        if (!store_.check({key_})) {
            store_.compare_set(key_, "", State().text());
        }
        const std::string text = store_.get(key_);
        view_ = observe(view_, State::from(text), clock_.now());
        Decision decision = decide(State::from(text), view_, wish);
        switch (decision.action) {
            case Action::write:
                store_.compare_set(key_, text, decision.state.text());
                break;
            case Action::wait:
                clock_.sleep(view_.settings.poll);
                break;
            default:
                return decision;
        }
    }
}

RendezvousRound Rendezvous::next_round() {
    view_.deadline = deadline_after(view_.time, view_.settings.join_timeout);
    const Decision decision = run(Wish::join);
    switch (decision.action) {
        case Action::closed:
            throw RendezvousClosed("nobody joins any more: " + key_);
        case Action::timed_out:
            throw Timeout(
                key_ + ": " + std::to_string(decision.state.members.size()) + " others have come"
            );
        default:
            break;
    }
    RendezvousRound round = {.number = decision.state.round, .nodes = decision.state.ranks};
    round.rank = static_cast<int>(
        std::lower_bound(round.nodes.begin(), round.nodes.end(), view_.name) - round.nodes.begin()
    );
    view_.round = round.number;
    return round;
}

bool Rendezvous::stay() {
    return run(Wish::stay).action == Action::done;
}

void Rendezvous::leave() {
    static_cast<void>(run(Wish::leave));
}

void Rendezvous::close() {
    static_cast<void>(run(Wish::close));
}

}  // namespace dist
