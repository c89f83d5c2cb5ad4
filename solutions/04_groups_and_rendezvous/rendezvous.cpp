#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

#include <algorithm>
#include <utility>

#include "course/runtime/deadline.hpp"

namespace dist {
namespace {

using Nodes = RendezvousState::Nodes;

/// Puts this node on a list, or counts it up there.
void beat(Nodes& nodes, const NodeView& view) {
    nodes[view.name] = view.seen(view.name).count + 1;
}

/// The dead go, and this node's heartbeat goes on.
void keep_alive(Nodes& nodes, const NodeView& view) {
    std::erase_if(nodes, [&](const auto& node) {
        const NodeView::Seen seen = view.seen(node.first);
        return node.first != view.name && view.unchanged(seen, view.settings.dead_after);
    });
    const bool is_due = view.unchanged(view.seen(view.name), view.settings.heartbeat);
    if (is_due && nodes.contains(view.name)) {
        beat(nodes, view);
    }
}

void take_off(RendezvousState& state, const std::string& name) {
    state.members.erase(name);
    state.waiting.erase(name);
}

void complete(RendezvousState& state) {
    for (const auto& [name, count] : state.members) {  // a map is sorted
        state.ranks.push_back(name);
    }
}

Action join(RendezvousState& state, const NodeView& view) {
    const bool is_member = state.members.contains(view.name);
    const auto [min, max] = std::pair(view.settings.min_nodes, view.settings.max_nodes);
    if (state.closed) {
        return Action::closed;
    }
    if (state.complete() && state.round > view.round && is_member) {
        return Action::done;
    }
    if (view.time >= view.deadline) {
        take_off(state, view.name);
        return Action::timed_out;
    }
    if (state.complete() && !state.waiting.contains(view.name)) {
        state.members.erase(view.name);
        beat(state.waiting, view);
    } else if (!state.complete() && !is_member) {
        state.waiting.erase(view.name);
        beat(state.members, view);
        state.last_call += std::ssize(state.members) == min ? 1 : 0;
        if (std::ssize(state.members) == max) {
            complete(state);
        }
    } else if (!state.complete() && std::ssize(state.members) >= min &&
               view.unchanged(view.last_call, view.settings.last_call)) {
        complete(state);
    }
    return Action::wait;
}

Action stay(const RendezvousState& state, const NodeView& view) {
    const bool is_mine = state.round == view.round;
    const bool all_live = state.members.size() == state.ranks.size();
    const bool has_room = std::ssize(state.members) < view.settings.max_nodes;
    const bool holds = is_mine && all_live && (state.waiting.empty() || !has_room);
    return holds ? Action::done : Action::new_round;
}

}  // namespace

NodeView observe(NodeView view, const RendezvousState& state, Clock::Duration now) {
    const Clock::Duration none(0);
    view.time += std::clamp(now - view.looked.value_or(now), none, view.settings.heartbeat);
    view.looked = now;
    const auto see = [&](NodeView::Seen& seen, std::int64_t count) {
        if (seen.count != count) {
            seen = {count, view.time};
        }
    };
    for (const Nodes* nodes : {&state.members, &state.waiting}) {
        for (const auto& [name, count] : *nodes) {
            see(view.beats[name], count);
        }
    }
    see(view.last_call, state.last_call);
    return view;
}

Decision decide(const RendezvousState& state, const NodeView& view, Wish wish) {
    RendezvousState next = state;
    keep_alive(next.members, view);
    keep_alive(next.waiting, view);
    Action action = Action::done;
    if (wish == Wish::join) {
        action = join(next, view);
    } else if (wish == Wish::stay) {
        action = stay(next, view);
    } else if (wish == Wish::leave) {
        take_off(next, view.name);
    } else {
        next.closed = true;
        next.waiting.clear();
    }
    if (next.complete() && next.members.empty()) {
        ++next.round;
        next.ranks.clear();
    }
    return {next, next == state ? action : Action::write};
}

Rendezvous::Rendezvous(
    Store& store,
    std::string key,
    std::string name,
    const RendezvousSettings& settings,
    Clock& clock
)
    : store_(store), key_(std::move(key)), clock_(clock) {
    const auto [min, max] = std::pair(settings.min_nodes, settings.max_nodes);
    expects(1 <= min && min <= max, "Rendezvous: 1 <= min_nodes <= max_nodes must hold");
    expects(
        Clock::Duration(0) < settings.poll && settings.poll <= settings.heartbeat &&
            settings.heartbeat < settings.dead_after,
        "Rendezvous: 0 < poll <= heartbeat < dead_after must hold"
    );
    view_.name = std::move(name);
    view_.settings = settings;
}

Decision Rendezvous::run(Wish wish) {
    for (;;) {
        const std::string text = store_.compare_set(key_, "", "");  // only reads
        const RendezvousState state = RendezvousState::from(text);
        view_ = observe(view_, state, clock_.now());
        Decision decision = decide(state, view_, wish);
        if (decision.action == Action::write) {
            store_.compare_set(key_, text, decision.state.text());  // or another node was first
        } else if (decision.action == Action::wait) {
            clock_.sleep(view_.settings.poll);
        } else {
            return decision;
        }
    }
}

RendezvousRound Rendezvous::next_round() {
    view_.deadline = deadline_after(view_.time, view_.settings.join_timeout);
    const auto [state, action] = run(Wish::join);
    if (action == Action::closed) {
        throw RendezvousClosed("rendezvous " + key_ + " is closed");
    }
    if (action == Action::timed_out) {
        const std::string others = std::to_string(state.members.size());
        throw Timeout("rendezvous " + key_ + ": no round in time; other members: " + others);
    }
    view_.round = state.round;
    const auto rank = std::ranges::find(state.ranks, view_.name) - state.ranks.begin();
    return {state.round, static_cast<int>(rank), state.ranks};
}

bool Rendezvous::stay() {
    return run(Wish::stay).action == Action::done;
}

void Rendezvous::leave() {
    run(Wish::leave);
}

void Rendezvous::close() {
    run(Wish::close);
}

}  // namespace dist
