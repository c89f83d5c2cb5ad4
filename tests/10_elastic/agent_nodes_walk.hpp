// A game for the model checker: all that can happen to the agents of three nodes, in every order.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/10_elastic/agent_nodes.hpp"

namespace dist::harness {

/// Three nodes, of which two are enough for a round. Up to `faults` times a node dies, is cut off or is told to end; workers end as
/// they like. Who does what when is open: a node may be a round behind, and do then what belongs to the older one.
class NodesGame {
  public:
    using What = NodesEvent::What;
    using Node = AgentNode;
    using Place = Node::Place;

    NodesGame(int max_restarts, int faults)
        : settings_{.max_restarts = max_restarts, .grace = kTick}, faults_(faults) {}

    [[nodiscard]] static AgentWorld begun() { return {.nodes = std::vector<Node>(3)}; }

    [[nodiscard]] std::vector<NodesEvent> events(const AgentWorld& world) const {
        std::vector<NodesEvent> all;
        const NodeSet waiting = asking(world);
        for (NodeSet nodes = 1; nodes < bit(world.nodes.size()); ++nodes) {
            const bool all_ask = (nodes & ~waiting) == 0;
            const bool are_enough = (nodes & (nodes - 1)) != 0;  // two bits or more
            if (world.members == 0 && !world.no_more_rounds() && all_ask && are_enough) {
                all.push_back({What::round, 0, nodes});
            }
        }
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            add_events(all, world, i);
        }
        return all;
    }

    [[nodiscard]] Verdict happens(AgentWorld& world, const NodesEvent& event) const {
        if (event.what == What::round) {
            return begin_round(world, event.nodes);
        }
        Node& node = world.nodes[event.node];
        AgentEvent noticed = {.at = node.now};
        switch (event.what) {
            case What::comes:
                node.place = Place::asks;
                return {};
            case What::starts:
                noticed.kind = Kind::round;
                noticed.round = node.round;
                node.place = Place::is_in;
                break;
            case What::no_round:
                noticed.kind = Kind::no_round;
                break;
            case What::asks:
                if (const bool holds = harness::holds(world, node);
                    node.agent.workers == WorkerState::succeeded && finish(world, event.node)) {
                    noticed.kind = Kind::finished;
                } else if (!holds) {
                    noticed.kind = Kind::changed;
                } else {
                    return {};
                }
                break;
            case What::is_told:
                ++world.faults;
                noticed.kind = Kind::interrupted;
                noticed.signal = SIGTERM;
                break;
            case What::is_cut:
                ++world.faults;
                node.is_cut = true;
                noticed.kind = Kind::error;
                break;
            case What::dies:
                ++world.faults;
                node.place = Place::is_dead;
                node.lives = false;
                return {};
            case What::is_missed:
                world.members &= ~bit(event.node);
                return {};
            default:
                return looks(world, event);
        }
        return acts(world, event.node, noticed);
    }

    /// If nothing else goes wrong, each agent comes to its end, or waits where too few are left for a round.
    /// Workers that are told to end do not hear it.
    [[nodiscard]] Verdict judge(AgentWorld world) const {
        std::vector<std::string> on_the_way;
        for (int turns = 0; turns < 30; ++turns) {
            on_the_way.push_back(key(world));
            if (ends_well_.contains(on_the_way.back())) {
                ends_well_.insert(on_the_way.begin(), on_the_way.end());
                return {};
            }
            const std::string before = on_the_way.back();
            for (std::size_t i = 0; i < world.nodes.size(); ++i) {
                go_on(world, i);
            }
            const NodeSet waiting = asking(world);
            if (world.members == 0 && !world.no_more_rounds() && (waiting & (waiting - 1)) != 0) {
                static_cast<void>(begin_round(world, waiting));
            }
            const bool stands = std::ranges::all_of(world.nodes, [](const Node& node) {
                return node.place == Place::is_over || node.place == Place::is_dead ||
                       node.place == Place::asks;
            });
            if (stands && key(world) == before) {
                ends_well_.insert(on_the_way.begin(), on_the_way.end());
                return {};
            }
        }
        return Broken{
            "from every state all agents come to an end, or wait for nodes that are missing",
            "they do not, " + text_of(world)};
    }

    [[nodiscard]] static std::string key(const AgentWorld& world) { return key_of(world); }

    [[nodiscard]] static std::string text(const AgentWorld& world, const NodesEvent& event) {
        return text_of(world, event);
    }

  private:
    void add_events(std::vector<NodesEvent>& all, const AgentWorld& world, std::size_t i) const {
        const Node& node = world.nodes[i];
        const auto add = [&](bool may, What what) {
            if (may) {
                all.push_back({what, i});
            }
        };
        const bool is_lost = node.place == Place::is_dead || node.is_cut;
        add(is_lost && (world.members & bit(i)) != 0, What::is_missed);
        if (node.place == Place::is_dead || node.place == Place::is_over) {
            return;
        }
        const bool may_fail = world.faults < faults_;
        add(may_fail, What::dies);
        add(node.place == Place::away, What::comes);
        if (node.place == Place::away) {
            return;
        }
        const bool is_ending = node.agent.end.has_value();
        add(may_fail && !is_ending, What::is_told);
        add(may_fail && !is_ending && node.place != Place::has_round, What::is_cut);
        add(node.place == Place::asks && world.no_more_rounds(), What::no_round);
        add(node.place == Place::has_round, What::starts);
        if (node.place != Place::is_in) {
            return;
        }
        add(!node.is_cut, What::asks);
        add(node.lives && node.is_told && !node.is_killed, What::waits);
        add(node.lives && !node.is_killed, What::ends_well);
        add(node.lives && !node.is_killed, What::ends_badly);
        add(node.lives && node.is_told && !node.is_killed, What::ended_badly);
        add(node.lives && node.is_killed, What::is_killed);
    }

    /// An agent looks at its worker.
    [[nodiscard]] Verdict looks(AgentWorld& world, const NodesEvent& event) const {
        Node& node = world.nodes[event.node];
        node.now += kTick;
        AgentEvent look = {.kind = Kind::looked, .at = node.now};
        const bool is_bad = event.what != What::ends_well;
        if (event.what == What::ended_badly) {
            look.ended = {exits(0, 1, node.agent.told_at - 1ms)};
        } else if (event.what == What::is_killed) {
            look.ended = {dies(0, SIGKILL, node.now)};
        } else if (event.what != What::waits) {
            look.ended = {exits(0, is_bad ? 1 : 0, node.now)};
        }
        node.lives = event.what == What::waits;
        const bool fails = is_bad && !node.is_told;
        const bool can_pay = node.paid < settings_.max_restarts;
        node.paid += fails && can_pay ? 1 : 0;
        Verdict verdict = acts(world, event.node, look);
        if (!verdict && fails && !can_pay && node.agent.end != AgentEnd::failed) {
            return Broken{
                "a failure without a restart left ends the job",
                name_of(event.node) + ": " + text_of(node.agent.end)};
        }
        return verdict;
    }

    /// The agent decides, and what it decides is done.
    [[nodiscard]] Verdict acts(AgentWorld& world, std::size_t i, const AgentEvent& event) const {
        Node& node = world.nodes[i];
        auto [agent, actions] = agent_step(node.agent, event, settings_);
        node.agent = agent;
        const std::string who = name_of(i) + ", after " + text_of(event) + ": ";
        if (actions.start && node.lives) {
            return Broken{
                "no worker of an older round lives in a new one",
                who + "it starts a worker, and the one before lives"};
        }
        if (actions.start && agent.round != node.round) {
            return Broken{
                "all nodes of a round start their workers in it",
                who + "the round of its workers is another one than it was told"};
        }
        if (actions.start) {
            node.lives = true;
            node.is_told = node.is_killed = false;
        }
        if (actions.signal != 0 && node.lives) {
            node.is_killed = node.is_killed || actions.signal == SIGKILL;
            node.is_told = true;
        }
        if (actions.close && !node.is_cut) {
            world.is_closed = true;
        }
        if ((actions.leave && !node.is_cut) || (!is_in_round(agent) && !node.is_cut)) {
            world.members &= ~bit(i);  // or it asks for the next round
        }
        if (agent.end && !node.lives) {
            node.place = Place::is_over;
        } else if (!is_in_round(agent)) {
            node.place = Place::asks;
        }
        return judged(world, i, actions, who);
    }

    [[nodiscard]] static Verdict judged(
        const AgentWorld& world, std::size_t i, const AgentActions& actions, const std::string& who
    ) {
        const Node& node = world.nodes[i];
        const AgentState& agent = node.agent;
        if (agent.restarts != node.paid) {
            return Broken{
                "a failure costs one restart, and a change of members none",
                who + std::to_string(agent.restarts) + " restarts, and in truth " +
                    std::to_string(node.paid)};
        }
        if (node.lives != (agent.alive == 1)) {
            return Broken{
                "an agent knows whether its worker lives",
                who + std::to_string(agent.alive) + " alive, workers " + text_of(agent.workers) +
                    ", and in truth it lives"};
        }
        const bool may_close = agent.end == AgentEnd::failed || agent.end == AgentEnd::succeeded;
        if (actions.close && !may_close) {
            return Broken{
                "the rendezvous is closed by who fails or finishes, and by nobody else",
                who + text_of(actions) + ", and " + text_of(agent.end)};
        }
        if (node.place != Place::is_over || node.is_cut) {
            return {};
        }
        const bool all_done = world.is_finished && node.round.number == world.number;
        if (agent.end == AgentEnd::succeeded && !all_done) {
            return Broken{"who succeeds has seen all nodes finish", who + text_of(agent.end)};
        }
        if (may_close && !world.is_closed) {
            return Broken{"who fails or finishes closes the rendezvous", who + text_of(agent.end)};
        }
        if ((world.members & bit(i)) != 0) {
            return Broken{"who ends leaves its round", who + text_of(agent.end)};
        }
        return {};
    }

    /// What a node does next where nothing goes wrong.
    void go_on(AgentWorld& world, std::size_t i) const {
        std::vector<NodesEvent> mine;
        add_events(mine, world, i);
        constexpr What kOrder[] = {What::is_missed, What::comes,     What::starts, What::no_round,
                                   What::waits,     What::is_killed, What::asks,   What::ends_well};
        for (const What what : kOrder) {
            const auto found = std::ranges::find(mine, what, &NodesEvent::what);
            const bool is_done = what == What::asks && world.nodes[i].lives;
            if (found != mine.end() && !is_done) {
                static_cast<void>(happens(world, *found));
                return;
            }
        }
    }

    AgentSettings settings_;
    int faults_;
    mutable std::unordered_set<std::string> ends_well_;  // keys
};

}  // namespace dist::harness
