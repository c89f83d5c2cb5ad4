// The agents of a few nodes with a worker each, and rounds as Rounds promises them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/10_elastic/agent_text.hpp"
#include "tests/harness/walk/walk.hpp"

namespace dist::harness {

inline constexpr Ms kTick = 100ms;  // from look to look, and the grace

/// A node: what its agent knows, and what is.
struct AgentNode {
    enum class Place { away, asks, has_round, is_in, is_over, is_dead };

    Place place = Place::away;
    AgentState agent = {};
    WorkerRound round = {};  // that it was told last
    bool lives = false;      // its worker
    bool is_told = false;    // the worker, to end
    bool is_killed = false;  // the worker
    bool is_cut = false;     // from the rendezvous, for good
    int paid = 0;            // failures that cost a restart
    Ms now{0};
};

/// Nodes are numbers, and the bits of a set.
using NodeSet = std::uint32_t;

struct AgentWorld {
    std::vector<AgentNode> nodes = {};
    std::int64_t number = 0;  // of the newest round
    NodeSet round = 0;        // its nodes
    NodeSet members = 0;      // those that are in it still, as far as anybody knows
    NodeSet said = 0;         // those that have finished
    bool is_finished = false;
    bool is_closed = false;
    int faults = 0;

    [[nodiscard]] bool no_more_rounds() const { return is_finished || is_closed; }
};

inline NodeSet bit(std::size_t node) {
    return NodeSet{1} << node;
}

inline std::string name_of(std::size_t node) {
    return {static_cast<char>('a' + node)};
}

inline std::string names_of(NodeSet nodes) {
    std::string text;
    for (std::size_t i = 0; nodes >> i != 0; ++i) {
        text += (nodes & bit(i)) == 0 ? "" : (text.empty() ? "" : " and ") + name_of(i);
    }
    return text;
}

/// Whether an agent that is not over watches workers, or waits for those of other nodes.
inline bool is_in_round(const AgentState& agent) {
    return agent.workers != WorkerState::init && agent.workers != WorkerState::stopped;
}

/// Nodes that wait for a round.
inline NodeSet asking(const AgentWorld& world) {
    NodeSet all = 0;
    for (std::size_t i = 0; i < world.nodes.size(); ++i) {
        all |= world.nodes[i].place == AgentNode::Place::asks ? bit(i) : 0;
    }
    return all;
}

/// As Rounds::holds(), where each round has room for all.
inline bool holds(const AgentWorld& world, const AgentNode& node) {
    return node.round.number == world.number && world.members == world.round && asking(world) == 0;
}

/// As Rounds::finish().
inline bool finish(AgentWorld& world, std::size_t i) {
    if (world.nodes[i].round.number != world.number) {
        return false;
    }
    world.said |= bit(i);
    world.is_finished = world.said == world.round;
    return world.is_finished;
}

/// A new round: its nodes are told, one after the other, when they look.
inline Verdict begin_round(AgentWorld& world, NodeSet nodes) {
    ++world.number;
    world.round = world.members = nodes;
    world.said = 0;
    int size = 0;
    for (std::size_t i = 0; i < world.nodes.size(); ++i) {
        size += (nodes & bit(i)) != 0 ? 1 : 0;
    }
    int rank = 0;
    for (std::size_t i = 0; i < world.nodes.size(); ++i) {
        if ((nodes & bit(i)) == 0) {
            continue;
        }
        AgentNode& node = world.nodes[i];
        if (node.lives) {
            return Broken{
                "no worker of an older round lives in a new one",
                "round " + std::to_string(world.number) + " begins, and the worker that " +
                    name_of(i) + " started in round " + std::to_string(node.round.number) +
                    " lives"};
        }
        node.place = AgentNode::Place::has_round;
        node.round = {
            .number = world.number,
            .node = rank,
            .nodes = size,
            .first_rank = rank,
            .workers = 1,
            .world_size = size};
        ++rank;
    }
    return {};
}

struct NodesEvent {
    enum class What {
        comes,        // a node, late or not
        round,        // a round begins with `nodes`
        starts,       // a node is told its round
        no_round,     // a node is told that there are no more
        waits,        // a tick, in which a worker that was told to end lives on
        ends_well,    // its worker, and it sees it
        ends_badly,   // likewise
        ended_badly,  // likewise, before it was told to end
        is_killed,    // likewise, by SIGKILL
        asks,  // a node asks whether its round holds and, where its worker is done, whether all are
        is_told,    // a node, to end by SIGTERM
        is_cut,     // a node, from the rendezvous
        dies,       // a node, and its worker with it
        is_missed,  // a node that is dead or cut off, by the others
    };

    What what = What::comes;
    std::size_t node = 0;
    NodeSet nodes = 0;
};

inline std::string text_of(const AgentWorld& world, const NodesEvent& event) {
    const char* const all[] = {
        "comes",
        "is complete: ",
        "is told round ",
        "is told that there are no more rounds",
        "sees that its worker lives on",
        "sees that its worker exits with 0",
        "sees that its worker exits with 1",
        "sees that its worker had exited with 1 before it was told to end",
        "sees that its worker is killed",
        "asks whether its round holds",
        "gets SIGTERM",
        "is cut off from the rendezvous",
        "dies, and its worker with it",
        "is missed by the others"};
    const std::string what = all[static_cast<std::size_t>(event.what)];
    if (event.what == NodesEvent::What::round) {
        return "round " + std::to_string(world.number + 1) + " " + what + names_of(event.nodes);
    }
    const bool starts = event.what == NodesEvent::What::starts;
    const std::int64_t number = world.nodes[event.node].round.number;
    return name_of(event.node) + " " + what + (starts ? std::to_string(number) : "");
}

inline std::string text_of(const AgentWorld& world) {
    std::string text = "and stay in round " + std::to_string(world.number);
    for (std::size_t i = 0; i < world.nodes.size(); ++i) {
        const AgentState& agent = world.nodes[i].agent;
        text += ", " + name_of(i) + " " + text_of(agent.workers) + " with " + text_of(agent.end);
    }
    return text;
}

/// All that decides how a world goes on.
inline std::string key_of(const AgentWorld& world) {
    std::string key;
    const auto add = [&](auto number) { key += static_cast<char>('0' + static_cast<int>(number)); };
    for (const auto number : {world.round, world.members, world.said}) {
        add(number);
    }
    add((world.is_finished ? 2 : 0) + (world.is_closed ? 1 : 0));
    add(world.faults);
    for (const AgentNode& node : world.nodes) {
        const AgentState& agent = node.agent;
        add(node.place);
        if (node.place == AgentNode::Place::is_dead || node.place == AgentNode::Place::away) {
            continue;
        }
        add(agent.workers);
        add(agent.end ? 1 + static_cast<int>(*agent.end) : 0);
        add(agent.alive);
        add(agent.restarts);
        add(node.paid);
        add((node.lives ? 1 : 0) + (node.is_told ? 2 : 0) + (node.is_killed ? 4 : 0) +
            (node.is_cut ? 8 : 0) + (agent.killed ? 16 : 0) +
            (node.round.number == world.number ? 32 : 0));
        add(node.is_told ? std::min<long>((node.now - agent.told_at) / kTick, 2) : 0);
        for (const WorkerRecord& record : agent.ended) {
            add(record.fate);
        }
        key += ' ';
    }
    return key;
}

}  // namespace dist::harness
