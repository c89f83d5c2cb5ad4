// A game for the model checker: all that can happen to a few nodes at a rendezvous, in every order.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_world.hpp"

namespace dist::harness {

/// Which nodes play, and what may become of them.
struct Cast {
    /// What a node does before another one may be next: it looks once, and so others come between
    /// its write and its next look; or it looks until there is nothing to write.
    enum class Move { look, turn };

    int min = 1;
    int max = 1;
    Names names = {};
    int deaths = 0;   // so many die
    int endings = 0;  // so many times one leaves, closes the rendezvous, or comes to its deadline
    bool is_late = false;  // another node may be first with its write: a compare_set is lost
    Move move = Move::look;
};

struct RendezvousEvent {
    enum class Kind { looks, looks_in_vain, asks, dies, leaves, closes, ends };

    Kind kind = Kind::looks;
    std::size_t node = 0;
    Duration later{0};
};

/// A node may look at once, or a heartbeat later by its own clock; the cast says what else may
/// happen. Counts and times of a world have no end, but what decides has: whether a count is another
/// than the one that a node has noted, and for how many heartbeats it has been the same. Worlds that
/// agree in that are one.
class RendezvousGame {
  public:
    using Node = RendezvousNode;
    using Phase = Node::Phase;
    using World = RendezvousWorld;
    using Event = RendezvousEvent;
    using Kind = Event::Kind;

    explicit RendezvousGame(Cast cast)
        : cast_(std::move(cast)), looks_(cast_.move == Cast::Move::look ? 1 : 4) {
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
                ++world.endings;
                return {};
            case Kind::closes:
                node.closes = true;
                ++world.endings;
                return {};
            case Kind::ends:
                node.view.deadline = 0s;
                ++world.endings;
                return {};
            case Kind::looks:
                return turn(world, event.node, event.later);
            case Kind::looks_in_vain:
                return look(world, event.node, event.later, true).verdict;
        }
        return {};
    }

    /// If nothing else happens any more, and all look in turn, as many as can are soon in a round
    /// that holds, or know that there is none. Where fewer than min_nodes join, they wait.
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
                    static_cast<void>(turn(world, i, 1s, 4));
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
        const Node& node = world.nodes[event.node];
        const std::string& name = node.view.name;
        const std::string when = event.later > 0s ? " 1 s later" : "";
        const std::string what = node.view.looked ? " looks" : " comes, and looks";
        switch (event.kind) {
            case Kind::dies:
                return name + " dies";
            case Kind::asks:
                return name + " asks for another round";
            case Kind::leaves:
                return name + " wants to leave";
            case Kind::closes:
                return name + " wants to close the rendezvous";
            case Kind::ends:
                return name + " comes to its deadline";
            case Kind::looks:
                return name + what + when;
            case Kind::looks_in_vain:
                return name + what + when + ", and loses its compare_set";
        }
        return "";
    }

    [[nodiscard]] static std::string key(const World& world) { return key_of(world); }

  private:
    struct Looked {
        Action action;
        Verdict verdict;
    };

    /// Lets a node look, once or until there is nothing to write.
    Verdict turn(World& world, std::size_t i, Duration later) const {
        return turn(world, i, later, looks_);
    }
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
        if ((decision.action == Action::write) == (decision.state == world.state)) {
            return {
                decision.action,
                Broken{
                    "a node writes if it has changed the state, and only then",
                    "the action is " + text_of(decision.action) + ", and the state is " +
                        (decision.state == world.state ? "the same" : "another one")}};
        }
        if (decision.action == Action::write) {
            return {decision.action, is_late ? Verdict{} : written(world, decision.state)};
        }
        return {decision.action, ended(node, world.state, wish, decision.action)};
    }

    /// Puts a new state in the place of the old one.
    Verdict written(World& world, const RendezvousState& after) const {
        const RendezvousState before = std::exchange(world.state, after);
        const bool is_new = !before.complete() && after.complete();
        for (Node& node : world.nodes) {
            const std::string& name = node.view.name;
            const bool is_member = after.members.contains(name);
            const bool has_rank = std::ranges::count(after.ranks, name) > 0;
            if (node.phase == Phase::is_dead && is_new && has_rank && node.died_in != after.round) {
                return Broken{"a dead node is in no later round", name + ": " + text_of(after)};
            }
            node.died_in = is_member ? node.died_in : 0;
        }
        return judged(before, after, settings_);
    }

    Cast cast_;
    int looks_;
    RendezvousSettings settings_;
    mutable std::unordered_set<std::string> ends_well_;  // keys
};

}  // namespace dist::harness
