// A small model checker: all that can happen to a few nodes at a rendezvous, in every order.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_scene.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// A node may look at once, or a heartbeat later by its own clock; it may die; and it may ask for
/// another round while it is in one. Counts and times of a world have no end, but what decides has:
/// whether a count is another than the one that a node has noted, and for how many heartbeats it
/// has been the same. Worlds that agree in that are one.
class Walk {
  public:
    /// What a node does before another one may be next: it looks once, and so others come between
    /// its write and its next look; or it looks until there is nothing to write.
    enum class Move { look, turn };

    /// Up to `deaths` of these nodes die.
    Walk(int min, int max, const Names& names, int deaths, Move move)
        : settings_(nodes(min, max)), deaths_(deaths), looks_(move == Move::look ? 1 : 4) {
        settings_.heartbeat = settings_.poll = settings_.last_call = 1s;
        settings_.dead_after = 2s;
        World first;
        for (const std::string& name : names) {
            const NodeView view = {.name = name, .settings = settings_, .deadline = 24h * 365};
            first.nodes.push_back({.view = view});
        }
        add(first, 0, "");
    }

    /// Goes through all worlds. What is wrong in one is told with the shortest way there. `goes_on` is called now and then:
    /// there are thousands, and sanitizers take their time.
    Comparison all(const std::function<void()>& goes_on) {
        const auto tell = [&](std::size_t at) {
            if (at % 500 == 499) {
                goes_on();
            }
        };
        for (std::size_t at = 0; at < worlds_.size(); ++at) {
            tell(at);
            for (std::size_t i = 0; i < worlds_[at].nodes.size(); ++i) {
                step(at, i);
                if (!wrong_.empty()) {
                    return {false, wrong_};
                }
            }
        }
        for (std::size_t at = 0; at < worlds_.size(); ++at) {
            tell(at);
            if (!comes_together(worlds_[at])) {
                return {
                    false,
                    "no round ever comes, although enough nodes live and join: " + way_to(at)};
            }
        }
        return {};
    }

    [[nodiscard]] std::size_t size() const { return worlds_.size(); }

  private:
    enum class Phase { joins, is_in, is_dead };

    struct Node {
        NodeView view;
        Phase phase = Phase::joins;
        Duration clock{0};
    };

    struct World {
        RendezvousState state;
        std::vector<Node> nodes;
        int deaths = 0;
    };

    struct Looked {
        Action action;
        std::string wrong;  // what is wrong with it, or with what it has made of the state
    };

    /// Where a world was first come to from, and by what.
    struct From {
        std::size_t world;
        std::string move;
    };

    void step(std::size_t at, std::size_t i) {
        if (worlds_[at].nodes[i].phase == Phase::is_dead) {
            return;
        }
        const std::string& name = worlds_[at].nodes[i].view.name;
        if (worlds_[at].deaths < deaths_) {
            World world = worlds_[at];
            world.nodes[i].phase = Phase::is_dead;
            ++world.deaths;
            add(std::move(world), at, name + " dies");
        }
        if (worlds_[at].nodes[i].phase == Phase::is_in) {
            World world = worlds_[at];
            world.nodes[i].phase = Phase::joins;
            add(std::move(world), at, name + " asks for another round");
        }
        for (const Duration later : {0s, 1s}) {
            World world = worlds_[at];
            const std::string move = name + " looks" + (later > 0s ? " 1 s later" : "");
            Looked looked = look(world, i, later);
            for (int looks = 1; looks < looks_ && looked.action == Action::write; ++looks) {
                looked = looked.wrong.empty() ? look(world, i, 0s) : looked;
            }
            if (!looked.wrong.empty()) {
                wrong_ = looked.wrong + ". The way there: " + way_to(at) + "; " + move + ": " +
                         text_of(world.state);
                return;
            }
            add(std::move(world), at, move);
        }
    }

    /// Lets a node look, decide and write.
    Looked look(World& world, std::size_t i, Duration later) const {
        Node& node = world.nodes[i];
        node.clock += later;
        node.view = observe(std::move(node.view), world.state, node.clock);
        const Wish wish = node.phase == Phase::is_in ? Wish::stay : Wish::join;
        auto [before, action] = decide(world.state, node.view, wish);
        std::swap(before, world.state);
        const RendezvousState& after = world.state;
        if (action == Action::done && wish == Wish::join) {
            const bool is_new = after.round > node.view.round;
            node.view.round = after.round;
            node.phase = Phase::is_in;
            if (!is_new || std::ranges::count(after.ranks, node.view.name) != 1) {
                return {action, "join ends in a round that the node was in before, or is not in"};
            }
        }
        if (action == Action::new_round) {
            node.phase = Phase::joins;
        }
        if ((action == Action::write) == (before == after)) {
            return {
                action, "the action is " + text_of(action) + ", and the state is " +
                            (before == after ? "the same" : "another one")};
        }
        return {action, wrong(before, after)};
    }

    /// What is wrong with a state, or with the way from one state to the next.
    [[nodiscard]] std::string wrong(const RendezvousState& before, const RendezvousState& after)
        const {
        const auto size = static_cast<int>(after.ranks.size());
        const bool is_new = before.round == after.round && !before.complete() && after.complete();
        if (is_new && (size < settings_.min_nodes || size > settings_.max_nodes)) {
            return "a round is complete with " + std::to_string(size) + " nodes";
        }
        if (is_new && after.ranks != names_of(after.members)) {
            return "the ranks of a complete round are not its members by sorted name";
        }
        if (before.round == after.round && before.complete() && after.ranks != before.ranks) {
            return "the ranks of a complete round change";
        }
        if (after.round != before.round && (after.round != before.round + 1 || after.complete())) {
            return "a new round has not the next number, or has ranks before anybody joins";
        }
        if (!after.complete() && std::ssize(after.members) >= settings_.max_nodes) {
            return "a round with max_nodes members is not complete";
        }
        for (const auto& [name, count] : after.members) {
            if (after.waiting.contains(name)) {
                return name + " is a member, and waits";
            }
            if (after.complete() && std::ranges::count(after.ranks, name) != 1) {
                return name + " is a member of a complete round, and has no rank";
            }
        }
        return "";
    }

    /// Whether, if nobody dies any more and all look in turn, as many as can are soon in a round
    /// that holds. Where fewer than min_nodes live, nobody has to be.
    bool comes_together(World world) {
        std::vector<std::string> on_the_way;
        for (int turns = 0; turns < 20; ++turns) {
            const std::string key = key_of(world);
            if (ends_well_.contains(key) || has_come_together(world)) {
                ends_well_.insert(on_the_way.begin(), on_the_way.end());
                return true;
            }
            on_the_way.push_back(key);
            for (std::size_t i = 0; i < world.nodes.size(); ++i) {
                if (world.nodes[i].phase != Phase::is_dead) {
                    const Looked looked = look(world, i, 1s);
                    for (int looks = 1; looks < 4 && looked.action == Action::write; ++looks) {
                        look(world, i, 0s);
                    }
                }
            }
        }
        return false;
    }

    [[nodiscard]] bool has_come_together(const World& world) const {
        const auto alive = static_cast<int>(world.nodes.size()) - world.deaths;
        const auto in = std::ranges::count_if(world.nodes, [&](const Node& node) {
            return node.phase == Phase::is_in && node.view.round == world.state.round;
        });
        const bool all_live = std::ssize(world.state.members) == in;
        return alive < settings_.min_nodes ||
               (all_live && in == std::min(alive, settings_.max_nodes));
    }

    void add(World world, std::size_t from, const std::string& move) {
        if (known_.insert(key_of(world)).second) {
            worlds_.push_back(std::move(world));
            from_.push_back({from, move});
        }
    }

    /// Two worlds with the same key go on alike.
    [[nodiscard]] std::string key_of(const World& world) const {
        const RendezvousState& state = world.state;
        std::string key = std::to_string(world.deaths) + (state.complete() ? 'c' : 'g');
        for (const std::string& name : state.ranks) {
            key += name;
        }
        for (const auto* list : {&state.members, &state.waiting}) {
            key += '/';
            for (const auto& [name, count] : *list) {
                key += name;
            }
        }
        const auto note = [&](const NodeView& view, const NodeView::Seen& seen,
                              std::int64_t count) {
            const Duration most =
                &seen == &view.last_call ? settings_.last_call : settings_.dead_after;
            const Duration age = std::min(view.time - seen.since, most);
            key += seen.count == count ? static_cast<char>('0' + age / 1s) : '!';
        };
        for (const Node& node : world.nodes) {
            const NodeView& view = node.view;
            key += node.phase == Phase::joins ? 'j' : node.phase == Phase::is_in ? 'i' : 'd';
            if (node.phase == Phase::is_dead) {
                continue;
            }
            key += view.round == state.round ? '=' : '<';
            for (const auto* list : {&state.members, &state.waiting}) {
                for (const auto& [name, count] : *list) {
                    note(view, view.seen(name), count);
                }
            }
            if (!state.complete()) {
                note(view, view.last_call, state.last_call);
            }
        }
        return key;
    }

    [[nodiscard]] std::string way_to(std::size_t at) const {
        Names moves;
        for (; at > 0; at = from_[at].world) {
            moves.push_back(from_[at].move);
        }
        std::string way;
        for (; !moves.empty(); moves.pop_back()) {
            way += (way.empty() ? "" : "; ") + moves.back();
        }
        return way;
    }

    RendezvousSettings settings_;
    int deaths_;
    int looks_;
    std::vector<World> worlds_;
    std::vector<From> from_;
    std::unordered_set<std::string> known_;
    std::unordered_set<std::string> ends_well_;
    std::string wrong_;
};

}  // namespace dist::harness
