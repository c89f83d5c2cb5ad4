// A game for the model checker: all that can happen to a few nodes at a rendezvous, in every order.
#pragma once

#include <algorithm>
#include <chrono>
#include <iterator>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"
#include "tests/harness/walk/walk.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Duration = Clock::Duration;
using Names = std::vector<std::string>;

/// Times are round numbers: a last call of 30 s, heartbeats every 5 s, dead after 15 s.
inline RendezvousSettings nodes(int min, int max) {
    return {.min_nodes = min, .max_nodes = max};
}

inline std::string text_of(const Names& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : " ") + name;
    }
    return names.empty() ? "none" : text;
}

inline Names names_of(const RendezvousState::Nodes& nodes) {
    Names names;
    for (const auto& [name, count] : nodes) {
        names.push_back(name);
    }
    return names;
}

/// The heartbeats of a node, and whether it is a member; 0 if it is on no list.
inline std::pair<std::int64_t, bool> count_of(const RendezvousState& in, const std::string& name) {
    const bool is_member = in.members.contains(name);
    const auto& list = is_member ? in.members : in.waiting;
    return {list.contains(name) ? list.at(name) : 0, is_member};
}

inline std::string text_of(Action action) {
    const char* const words[] = {"write", "wait", "done", "new_round", "timed_out", "closed"};
    return words[static_cast<int>(action)];
}

/// "round 2, members a b, ranks none, waiting c"
inline std::string text_of(const RendezvousState& state) {
    std::ostringstream text;
    text << "round " << state.round << ", members " << text_of(names_of(state.members))
         << ", ranks " << text_of(state.ranks) << ", waiting " << text_of(names_of(state.waiting))
         << (state.closed ? ", closed" : "");
    return text.str();
}

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
    using Phase = RendezvousNode::Phase;
    const std::string& name = node.view.name;
    const bool is_off = !state.members.contains(name) && !state.waiting.contains(name);
    const auto broken = [&](const char* invariant) {
        return Broken{invariant, name + " is told " + text_of(action) + ": " + text_of(state)};
    };
    if (action == Action::done && wish == Wish::join) {
        const bool is_new = state.round > node.view.round;
        node.view.round = state.round;
        node.phase = Phase::is_in;
        if (!is_new || std::ranges::count(state.ranks, name) != 1) {
            return broken("join ends in a newer round, in which the node has one rank");
        }
    } else if (action == Action::new_round) {
        node.phase = Phase::joins;
        node.view.deadline = kNever;
    } else if (action == Action::closed) {
        node.phase = Phase::is_out;
        if (!state.closed) {
            return broken("a rendezvous is closed by close alone");
        }
    } else if (action == Action::timed_out || (action == Action::done && wish == Wish::leave)) {
        node.phase = Phase::is_out;
        if (!is_off) {
            return broken("who leaves or gives up is on no list any more");
        }
    } else if (action == Action::done && wish == Wish::close) {
        node.closes = false;
        if (!state.closed) {
            return broken("close closes the rendezvous");
        }
    }
    return {};
}

/// Whether nobody has anything to wait for any more: as many as can are in a round that holds, or know that there is none.
/// Where fewer than min_nodes join, they wait.
inline bool has_come_together(const RendezvousWorld& world) {
    using Phase = RendezvousNode::Phase;
    const RendezvousSettings& settings = world.nodes.front().view.settings;
    int joining = 0;
    int in_this_round = 0;
    int in_a_round = 0;
    for (const RendezvousNode& node : world.nodes) {
        if (node.phase == Phase::is_dead) {
            continue;
        }
        if (node.closes || node.phase == Phase::leaves) {
            return false;
        }
        const bool is_in = node.phase == Phase::is_in;
        joining += node.phase == Phase::joins ? 1 : 0;
        in_a_round += is_in ? 1 : 0;
        in_this_round += is_in && node.view.round == world.state.round ? 1 : 0;
    }
    if (world.state.closed) {
        return joining == 0;
    }
    const int players = joining + in_a_round;
    return players < settings.min_nodes || (std::ssize(world.state.members) == in_this_round &&
                                            in_this_round == std::min(players, settings.max_nodes));
}

/// Which nodes play, and what may become of them.
struct Cast {
    int min = 1;
    int max = 1;
    Names names = {};
    int deaths = 0;   // so many die
    int endings = 0;  // so many times one leaves, closes the rendezvous, or comes to its deadline
    bool is_late = false;   // another node may be first with its write: a compare_set is lost
    bool in_turns = false;  // a node looks until there is nothing to write, and then another one
};

struct RendezvousEvent {
    enum class Kind { looks, looks_in_vain, asks, dies, leaves, closes, ends };

    Kind kind = Kind::looks;
    std::size_t node = 0;
    Duration later{0};
};

/// A node may look at once, or a heartbeat later by its own clock; the cast says what else may happen. Counts and times
/// of a world have no end, but what decides has: whether a count is another than the one that a node has noted, and for
/// how many heartbeats it has been the same. Worlds that agree in that are one.
class RendezvousGame {
  public:
    using Node = RendezvousNode;
    using Phase = Node::Phase;
    using World = RendezvousWorld;
    using Event = RendezvousEvent;
    using Kind = Event::Kind;

    explicit RendezvousGame(Cast cast) : cast_(std::move(cast)), looks_(cast_.in_turns ? 4 : 1) {
        settings_ = nodes(cast_.min, cast_.max);
        settings_.heartbeat = settings_.poll = settings_.last_call = 1s;
        settings_.dead_after = 2s;
    }

    [[nodiscard]] World begun() const {
        World world;
        for (const std::string& name : cast_.names) {
            const NodeView view = {.name = name, .settings = settings_, .deadline = kNever};
            world.nodes.push_back({.view = view});
        }
        return world;
    }

    [[nodiscard]] std::vector<Event> events(const World& world) const {
        std::vector<Event> all;
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            const Node& node = world.nodes[i];
            if (node.phase == Phase::is_dead) {
                continue;
            }
            if (world.deaths < cast_.deaths) {
                all.push_back({Kind::dies, i});
            }
            if (node.phase == Phase::is_in || node.phase == Phase::is_out) {
                all.push_back({Kind::asks, i});
            }
            if (world.endings < cast_.endings && !node.closes) {
                all.push_back({Kind::closes, i});
                if (node.phase == Phase::joins && node.view.deadline == kNever) {
                    all.push_back({Kind::ends, i});
                }
                if (node.phase != Phase::leaves && node.phase != Phase::is_out) {
                    all.push_back({Kind::leaves, i});
                }
            }
            if (node.phase == Phase::is_out && !node.closes) {
                continue;
            }
            for (const Duration later : {0s, 1s}) {
                all.push_back({Kind::looks, i, later});
                if (cast_.is_late) {
                    all.push_back({Kind::looks_in_vain, i, later});
                }
            }
        }
        return all;
    }

    Verdict happens(World& world, const Event& event) const {
        Node& node = world.nodes[event.node];
        switch (event.kind) {
            case Kind::dies:
                node.phase = Phase::is_dead;
                node.died_in = world.state.members.contains(node.view.name) ? world.state.round : 0;
                ++world.deaths;
                return {};
            case Kind::asks:
                node.phase = Phase::joins;
                node.view.deadline = kNever;
                return {};
            case Kind::leaves:
                node.phase = Phase::leaves;
                break;
            case Kind::closes:
                node.closes = true;
                break;
            case Kind::ends:
                node.view.deadline = 0s;
                break;
            case Kind::looks:
                return turn(world, event.node, event.later, looks_);
            case Kind::looks_in_vain:
                return look(world, event.node, event.later, true).verdict;
        }
        ++world.endings;
        return {};
    }

    /// If nothing else happens any more, and all look in turn, they have soon come together.
    [[nodiscard]] Verdict judge(World world) const {
        std::vector<std::string> on_the_way;
        for (int turns = 0; turns < 20; ++turns) {
            const std::string key = key_of(world);
            if (ends_well_.contains(key) || has_come_together(world)) {
                ends_well_.insert(on_the_way.begin(), on_the_way.end());
                return {};
            }
            on_the_way.push_back(key);
            for (std::size_t i = 0; i < world.nodes.size(); ++i) {
                const Node& node = world.nodes[i];
                if (node.phase != Phase::is_dead && (node.phase != Phase::is_out || node.closes)) {
                    if (Verdict broken = turn(world, i, 1s, 4)) {
                        return broken;
                    }
                }
            }
        }
        return Broken{
            "from every state all come to a round, or to an end",
            "all look in turn from here on, and no round ever comes, although enough nodes live "
            "and join: " +
                text_of(world.state)};
    }

    [[nodiscard]] std::string text(const World& world, const Event& event) const {
        const NodeView& view = world.nodes[event.node].view;
        const std::string looks = view.name + (view.looked ? " looks" : " comes, and looks") +
                                  (event.later > 0s ? " 1 s later" : "");
        const std::string of_kind[] = {
            looks,
            looks + ", and loses its compare_set",
            view.name + " asks for another round",
            view.name + " dies",
            view.name + " wants to leave",
            view.name + " wants to close the rendezvous",
            view.name + " comes to its deadline"};
        return of_kind[static_cast<int>(event.kind)];
    }

    [[nodiscard]] static std::string key(const World& world) { return key_of(world); }

  private:
    struct Looked {
        Action action;
        Verdict verdict;
    };

    /// Lets a node look, so often at most, until there is nothing to write.
    Verdict turn(World& world, std::size_t i, Duration later, int looks) const {
        Looked looked = look(world, i, later, false);
        for (; looks > 1 && looked.action == Action::write && !looked.verdict; --looks) {
            looked = look(world, i, 0s, false);
        }
        return looked.verdict;
    }

    /// Lets a node look, decide, and write, if no other one is first.
    Looked look(World& world, std::size_t i, Duration later, bool is_late) const {
        Node& node = world.nodes[i];
        node.clock += later;
        node.view = observe(std::move(node.view), world.state, node.clock);
        const Wish wish = node.closes                   ? Wish::close
                          : node.phase == Phase::leaves ? Wish::leave
                          : node.phase == Phase::is_in  ? Wish::stay
                                                        : Wish::join;
        const Decision decision = decide(world.state, node.view, wish);
        if (const Verdict broken = judged(decision, world.state, node.view, wish)) {
            return {decision.action, broken};
        }
        if (decision.action == Action::write) {
            return {decision.action, is_late ? Verdict{} : written(world, decision.state)};
        }
        return {decision.action, ended(node, world.state, wish, decision.action)};
    }

    /// What is wrong with a decision, whatever the wish.
    [[nodiscard]] Verdict judged(
        const Decision& decision, const RendezvousState& state, const NodeView& view, Wish wish
    ) const {
        const auto broken = [&](const char* invariant) {
            return Broken{
                invariant, view.name + " makes " + text_of(decision.state) + " of " +
                               text_of(state) + "; the action is " + text_of(decision.action)};
        };
        if (asked_++ % 8 == 0) {  // now and then: it takes as long as all else
            const Decision again = decide(state, view, wish);
            if (!(decision.state == again.state) || decision.action != again.action) {
                return broken("the same arguments have the same result");
            }
        }
        if ((decision.action == Action::write) == (decision.state == state)) {
            return broken("a node writes if it has changed the state, and only then");
        }
        const auto [count, is_member] = count_of(decision.state, view.name);
        if (std::pair(count, is_member) != count_of(state, view.name) && count != 0 &&
            count != view.seen(view.name).count + 1) {
            return broken("a node counts on, wherever it goes");
        }
        for (const auto* list : {&state.members, &state.waiting}) {
            for (const auto& [name, beats] : *list) {
                if (decision.action != Action::write && name != view.name &&
                    view.unchanged(view.seen(name), settings_.dead_after)) {
                    return broken("who does not count up for dead_after goes, whatever the wish");
                }
            }
        }
        return {};
    }

    /// Puts a new state in the place of the old one.
    Verdict written(World& world, const RendezvousState& after) const {
        const RendezvousState before = std::exchange(world.state, after);
        for (Node& node : world.nodes) {
            const std::string& name = node.view.name;
            const bool has_rank = std::ranges::count(after.ranks, name) > 0;
            if (node.phase == Phase::is_dead && !before.complete() && has_rank &&
                node.died_in != after.round) {
                return Broken{"a dead node is in no later round", name + ": " + text_of(after)};
            }
            node.died_in = after.members.contains(name) ? node.died_in : 0;
        }
        return harness::judged(before, after, settings_);
    }

    Cast cast_;
    int looks_;
    RendezvousSettings settings_;
    mutable std::unordered_set<std::string> ends_well_;  // keys
    mutable long asked_ = 0;                             // how many decisions
};

}  // namespace dist::harness
