// A world of the model checker: what stands in the store of a rendezvous, what its nodes know, and
// what must hold.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_scene.hpp"
#include "tests/harness/walk/walk.hpp"

namespace dist::harness {

inline constexpr Duration kNever = 24h * 365;  // a deadline

struct RendezvousNode {
    enum class Phase { joins, is_in, leaves, is_out, is_dead };

    NodeView view = {};
    Phase phase = Phase::joins;
    bool closes = false;  // first of all
    Duration clock{0};
    std::int64_t died_in = 0;  // the round that it was a member of, and still is; 0: none
};

struct RendezvousWorld {
    RendezvousState state = {};
    std::vector<RendezvousNode> nodes = {};
    int deaths = 0;
    int endings = 0;
};

/// What a node has noted, beside what stands there now, or will when a node comes back.
inline void add_notes(std::string& key, const NodeView& view, const RendezvousWorld& world) {
    const RendezvousState& state = world.state;
    const auto note = [&](const NodeView::Seen& seen, std::int64_t count, Duration most) {
        const Duration age = std::min(view.time - seen.since, most);
        key += seen.count == count ? static_cast<char>('0' + age / 1s) : '!';
    };
    for (const auto* list : {&state.members, &state.waiting}) {
        for (const auto& [name, count] : *list) {
            note(view.seen(name), count, view.settings.dead_after);
        }
    }
    for (const RendezvousNode& other : world.nodes) {
        const std::string& name = other.view.name;
        const bool is_off = !state.members.contains(name) && !state.waiting.contains(name);
        if (is_off && other.phase != RendezvousNode::Phase::is_dead && name != view.name) {
            note(view.seen(name), other.view.seen(name).count + 1, view.settings.dead_after);
        }
    }
    if (!state.complete()) {
        note(view.last_call, state.last_call, view.settings.last_call);
    }
}

/// Two worlds with the same key go on alike.
inline std::string key_of(const RendezvousWorld& world) {
    const RendezvousState& state = world.state;
    std::string key = {
        static_cast<char>('0' + world.deaths), static_cast<char>('0' + world.endings),
        state.complete() ? 'c' : 'g', state.closed ? 'x' : 'o'};
    for (const std::string& name : state.ranks) {
        key += name;
    }
    for (const auto* list : {&state.members, &state.waiting}) {
        key += '/';
        for (const auto& [name, count] : *list) {
            key += name;
        }
    }
    for (const RendezvousNode& node : world.nodes) {
        key += static_cast<char>('0' + static_cast<int>(node.phase));
        if (node.phase == RendezvousNode::Phase::is_dead) {
            key += node.died_in == state.round ? '=' : '<';
            continue;
        }
        key += node.closes ? 'c' : '-';
        key += node.view.deadline == kNever ? '-' : 'd';
        key += !node.view.looked ? '?' : node.view.round == state.round ? '=' : '<';
        add_notes(key, node.view, world);
    }
    return key;
}

/// What is wrong with a state, or with the way from one state to the next.
inline Verdict judged(
    const RendezvousState& before, const RendezvousState& after, const RendezvousSettings& settings
) {
    const bool is_new = before.round == after.round && !before.complete() && after.complete();
    const auto broken = [&](const char* invariant) {
        return Broken{invariant, text_of(before) + "; and then " + text_of(after)};
    };
    const auto size = static_cast<int>(after.ranks.size());
    if (is_new && (size < settings.min_nodes || size > settings.max_nodes)) {
        return broken("a round has min_nodes to max_nodes nodes");
    }
    if (is_new && after.ranks != names_of(after.members)) {
        return broken("the ranks of a round are its members by sorted name, each once");
    }
    if (before.round == after.round && before.complete() && after.ranks != before.ranks) {
        return broken("the ranks of a round stay the same for all its members");
    }
    if (after.round != before.round && (after.round != before.round + 1 || after.complete())) {
        return broken("a new round has the next number, and no ranks before nodes join");
    }
    if (!after.complete() && std::ssize(after.members) >= settings.max_nodes) {
        return broken("a round with max_nodes members is complete");
    }
    if (before.closed && (is_new || !after.closed)) {
        return broken("a closed rendezvous stays closed, and completes no round");
    }
    for (const auto& [name, count] : after.members) {
        if (after.waiting.contains(name)) {
            return broken("no member waits");
        }
        if (after.complete() && std::ranges::count(after.ranks, name) != 1) {
            return broken("each member of a complete round has a rank");
        }
    }
    return {};
}

/// What follows for a node from an action, which has changed nothing in the state.
inline Verdict ended(RendezvousNode& node, const RendezvousState& state, Wish wish, Action action) {
    const std::string& name = node.view.name;
    const bool is_off = !state.members.contains(name) && !state.waiting.contains(name);
    if (action == Action::done && wish == Wish::join) {
        const bool is_new = state.round > node.view.round;
        node.view.round = state.round;
        node.phase = RendezvousNode::Phase::is_in;
        if (!is_new || std::ranges::count(state.ranks, name) != 1) {
            return Broken{
                "join ends in a newer round, in which the node has one rank",
                name + " is told " + text_of(state)};
        }
    } else if (action == Action::new_round) {
        node.phase = RendezvousNode::Phase::joins;
        node.view.deadline = kNever;
    } else if (action == Action::closed) {
        node.phase = RendezvousNode::Phase::is_out;
        if (!state.closed) {
            return Broken{"a rendezvous is closed by close alone", name + " is told closed"};
        }
    } else if (action == Action::timed_out || (action == Action::done && wish == Wish::leave)) {
        node.phase = RendezvousNode::Phase::is_out;
        if (!is_off) {
            return Broken{
                "who leaves or gives up is on no list any more", name + ": " + text_of(state)};
        }
    } else if (action == Action::done && wish == Wish::close) {
        node.closes = false;
        if (!state.closed) {
            return Broken{"close closes the rendezvous", text_of(state)};
        }
    }
    return {};
}

/// Whether nobody has anything to wait for any more: as many as can are in a round that holds, or
/// know that there is none. Where fewer than min_nodes join, they wait.
inline bool has_come_together(const RendezvousWorld& world) {
    using Node = RendezvousNode;
    const RendezvousSettings& settings = world.nodes.front().view.settings;
    const auto count = [&](auto&& of) {
        return static_cast<int>(std::ranges::count_if(world.nodes, of));
    };
    const int busy = count([](const Node& node) {
        return node.phase != Node::Phase::is_dead &&
               (node.closes || node.phase == Node::Phase::leaves);
    });
    const int joining = count([](const Node& node) { return node.phase == Node::Phase::joins; });
    const int in = count([&](const Node& node) {
        return node.phase == Node::Phase::is_in && node.view.round == world.state.round;
    });
    const int all_in = count([](const Node& node) { return node.phase == Node::Phase::is_in; });
    if (world.state.closed) {
        return busy + joining == 0;
    }
    const bool all_live = std::ssize(world.state.members) == in;
    const bool is_full = in == std::min(joining + all_in, settings.max_nodes);
    return busy == 0 && (joining + all_in < settings.min_nodes || (all_live && is_full));
}

}  // namespace dist::harness
