// A game for the model checker: all that can happen to the agents of three nodes with a worker each, in every order. Rounds are as
// Rounds promises them.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/10_elastic/agent_text.hpp"
#include "tests/harness/walk/walk.hpp"
#include "tests/harness/words/text.hpp"

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

    /// Whether its agent watches workers, or waits for those of other nodes.
    [[nodiscard]] bool is_in_round() const {
        return agent.workers != WorkerState::init && agent.workers != WorkerState::stopped;
    }
};

using NodeSet = std::bitset<3>;

struct AgentWorld {
    std::array<AgentNode, 3> nodes = {};
    std::int64_t number = 0;  // of the newest round
    NodeSet round = {};       // its nodes
    NodeSet members = {};     // those that are in it still, as far as anybody knows
    NodeSet said = {};        // those that have finished
    bool is_finished = false;
    bool is_closed = false;
    int faults = 0;

    [[nodiscard]] bool no_more_rounds() const { return is_finished || is_closed; }

    /// Nodes that wait for a round.
    [[nodiscard]] NodeSet asking() const {
        NodeSet all;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            all[i] = nodes[i].place == AgentNode::Place::asks;
        }
        return all;
    }

    /// Whether these may begin a round.
    [[nodiscard]] bool may_begin(NodeSet some) const {
        return members.none() && !no_more_rounds() && some.count() >= 2 &&
               (some & ~asking()).none();
    }
};

struct NodesEvent {
    std::string text;
    bool is_usual;  // it happens where nothing goes wrong
    std::function<Verdict(AgentWorld& world)> happens;
};

/// Of the nodes two are enough for a round. Up to `faults` times a node dies, is cut off or is told to end; workers end as they like.
/// Who does what when is open: a node may be a round behind, and do then what belongs to the older one.
class NodesGame {
  public:
    using Place = AgentNode::Place;

    NodesGame(int max_restarts, int faults)
        : settings_{.max_restarts = max_restarts, .grace = kTick}, faults_(faults) {}

    [[nodiscard]] static AgentWorld begun() { return {}; }

    [[nodiscard]] std::vector<NodesEvent> events(const AgentWorld& world) const {
        std::vector<NodesEvent> all;
        for (unsigned bits = 0; bits < 8; ++bits) {
            if (const NodeSet nodes(bits); world.may_begin(nodes)) {
                std::string names;
                for (std::size_t i = 0; i < nodes.size(); ++i) {
                    names += nodes[i] ? (names.empty() ? "" : " and ") + name_of(i) : "";
                }
                all.push_back(
                    {harness::text("round ", world.number + 1, " is complete: ", names), true,
                     [nodes](AgentWorld& in) { return begin_round(in, nodes); }}
                );
            }
        }
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            std::ranges::move(events_of(world, i), std::back_inserter(all));
        }
        return all;
    }

    [[nodiscard]] static Verdict happens(AgentWorld& world, const NodesEvent& event) {
        return event.happens(world);
    }

    /// If nothing else goes wrong, each agent comes to its end, or waits where too few are left for a round.
    /// Workers that are told to end do not hear it.
    [[nodiscard]] Verdict judge(AgentWorld world) const {
        std::vector<std::string> on_the_way;
        for (int turns = 0; turns < 30; ++turns) {
            on_the_way.push_back(key(world));
            bool is_good = ends_well_.contains(on_the_way.back());
            for (std::size_t i = 0; !is_good && i < world.nodes.size(); ++i) {
                const auto mine = events_of(world, i);
                const auto next = std::ranges::find(mine, true, &NodesEvent::is_usual);
                static_cast<void>(next != mine.end() ? next->happens(world) : Verdict());
            }
            if (!is_good && world.may_begin(world.asking())) {
                static_cast<void>(begin_round(world, world.asking()));
            }
            const bool stand = std::ranges::all_of(world.nodes, [](const AgentNode& node) {
                return node.place == Place::is_over || node.place == Place::is_dead ||
                       node.place == Place::asks;
            });
            if (is_good || (stand && key(world) == on_the_way.back())) {
                ends_well_.insert(on_the_way.begin(), on_the_way.end());
                return {};
            }
        }
        std::string how = harness::text("they do not, and stay in round ", world.number);
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            const AgentState& agent = world.nodes[i].agent;
            how += ", " + name_of(i) + " " + text_of(agent.workers) + " with " + text_of(agent.end);
        }
        return Broken{
            "from every state all agents come to an end, or wait for nodes that are missing", how};
    }

    /// All that decides how a world goes on.
    [[nodiscard]] static std::string key(const AgentWorld& world) {
        std::string key;
        const auto add = [&](auto one) { key += static_cast<char>('0' + static_cast<int>(one)); };
        for (const NodeSet set : {world.round, world.members, world.said}) {
            add(set.to_ulong());
        }
        add((world.is_finished ? 2 : 0) + (world.is_closed ? 1 : 0));
        add(world.faults);
        for (const AgentNode& node : world.nodes) {
            const AgentState& agent = node.agent;
            add(node.place);
            if (node.place == Place::is_dead || node.place == Place::away) {
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

    [[nodiscard]] static std::string text(const AgentWorld& /*world*/, const NodesEvent& event) {
        return event.text;
    }

  private:
    [[nodiscard]] static std::string name_of(std::size_t node) {
        return {static_cast<char>('a' + node)};
    }

    /// A new round: its nodes are told, one after the other, when they look.
    static Verdict begin_round(AgentWorld& world, NodeSet nodes) {
        ++world.number;
        world.round = world.members = nodes;
        world.said = {};
        const int size = static_cast<int>(nodes.count());
        int rank = 0;
        for (std::size_t i = 0; i < world.nodes.size(); ++i) {
            AgentNode& node = world.nodes[i];
            if (nodes[i] && node.lives) {
                return Broken{
                    "no worker of an older round lives in a new one",
                    harness::text(
                        "round ", world.number, " begins, and the worker that ", name_of(i),
                        " started in round ", node.round.number, " lives"
                    )};
            }
            if (nodes[i]) {
                node.place = Place::has_round;
                node.round = {world.number, rank, size, rank, 1, size};
                ++rank;
            }
        }
        return {};
    }

    /// What may happen to a node: first what does where nothing goes wrong.
    [[nodiscard]] std::vector<NodesEvent> events_of(const AgentWorld& world, std::size_t i) const {
        std::vector<NodesEvent> all;
        const auto add = [&](bool may, bool is_usual, const std::string& what, auto happens) {
            if (may) {
                const auto to_it = [=](AgentWorld& in) { return happens(in, in.nodes[i]); };
                all.push_back({name_of(i) + " " + what, is_usual, to_it});
            }
        };
        const auto sees = [&](bool may, bool is_usual, const std::string& what, auto end_of) {
            add(may, is_usual, "sees that its worker " + what, [=, this](auto& in, auto& node) {
                node.now += kTick;
                return looks(in, i, end_of(node));
            });
        };
        const AgentNode& node = world.nodes[i];
        const bool is_away = node.place == Place::away;
        const bool is_in = node.place == Place::is_in;
        const bool runs = is_in && node.lives && !node.is_killed;
        const bool is_lost = node.place == Place::is_dead || node.is_cut;
        using Ends = std::vector<WorkerEnd>;
        add(is_lost && world.members[i], true, "is missed by the others", [=](auto& in, auto&) {
            in.members.reset(i);
            return Verdict();
        });
        add(is_away, true, "comes", [](auto&, auto& it) {
            it.place = Place::asks;
            return Verdict();
        });
        add(node.place == Place::has_round, true,
            harness::text("is told round ", node.round.number), [=, this](auto& in, auto& it) {
                it.place = Place::is_in;
                return acts(in, i, {.kind = Kind::round, .at = it.now, .round = it.round});
            });
        add(node.place == Place::asks && world.no_more_rounds(), true,
            "is told that there are no more rounds", [=, this](auto& in, auto& it) {
                return acts(in, i, {.kind = Kind::no_round, .at = it.now});
            });
        sees(runs && node.is_told, true, "lives on", [](auto&) { return Ends(); });
        sees(is_in && node.lives && node.is_killed, true, "is killed", [](auto& it) {
            return Ends{dies(0, SIGKILL, it.now)};
        });
        add(is_in && !node.is_cut, !node.lives, "asks whether its round holds",
            [=, this](auto& in, auto&) { return asks(in, i); });
        sees(runs, true, "exits with 0", [](auto& it) { return Ends{exits(0, 0, it.now)}; });
        sees(runs, false, "exits with 1", [](auto& it) { return Ends{exits(0, 1, it.now)}; });
        sees(
            runs && node.is_told, false, "had exited with 1 before it was told to end",
            [](auto& it) { return Ends{exits(0, 1, it.agent.told_at - 1ms)}; }
        );
        add_faults(world, i, add);
        return all;
    }

    void add_faults(const AgentWorld& world, std::size_t i, const auto& add) const {
        const AgentNode& node = world.nodes[i];
        const bool is_over = node.place == Place::is_over || node.place == Place::is_dead;
        const bool may_die = world.faults < faults_ && !is_over;
        const bool may_fail = may_die && node.place != Place::away && !node.agent.end;
        add(may_fail, false, "gets SIGTERM", [=, this](auto& in, auto& it) {
            ++in.faults;
            return acts(in, i, {.kind = Kind::interrupted, .at = it.now, .signal = SIGTERM});
        });
        add(may_fail && node.place != Place::has_round, false, "is cut off from the rendezvous",
            [=, this](auto& in, auto& it) {
                ++in.faults;
                it.is_cut = true;
                return acts(in, i, {.kind = Kind::error, .at = it.now});
            });
        add(may_die, false, "dies, and its worker with it", [](auto& in, auto& it) {
            ++in.faults;
            it.place = Place::is_dead;
            it.lives = false;
            return Verdict();
        });
    }

    /// As Rounds::holds(), where each round has room for all, and Rounds::finish().
    [[nodiscard]] Verdict asks(AgentWorld& world, std::size_t i) const {
        const AgentNode& node = world.nodes[i];
        const bool is_now = node.round.number == world.number;
        const bool holds = is_now && world.members == world.round && world.asking().none();
        if (node.agent.workers == WorkerState::succeeded && is_now) {
            world.said.set(i);
            world.is_finished = world.said == world.round;
            if (world.is_finished) {
                return acts(world, i, {.kind = Kind::finished, .at = node.now});
            }
        }
        return holds ? Verdict() : acts(world, i, {.kind = Kind::changed, .at = node.now});
    }

    /// An agent looks at its worker.
    [[nodiscard]] Verdict looks(
        AgentWorld& world, std::size_t i, const std::vector<WorkerEnd>& ended
    ) const {
        AgentNode& node = world.nodes[i];
        node.lives = ended.empty();
        const bool fails = !ended.empty() && !ended[0].is_good() && !node.is_told;
        const bool can_pay = node.paid < settings_.max_restarts;
        node.paid += fails && can_pay ? 1 : 0;
        Verdict verdict = acts(world, i, {.kind = Kind::looked, .at = node.now, .ended = ended});
        if (!verdict && fails && !can_pay && node.agent.end != AgentEnd::failed) {
            return Broken{
                "a failure without a restart left ends the job",
                name_of(i) + ": " + text_of(node.agent.end)};
        }
        return verdict;
    }

    /// The agent decides, and what it decides is done.
    [[nodiscard]] Verdict acts(AgentWorld& world, std::size_t i, const AgentEvent& event) const {
        AgentNode& node = world.nodes[i];
        const auto [agent, actions] = agent_step(node.agent, event, settings_);
        node.agent = agent;
        const auto broken = [&](const char* invariant, const auto&... how) {
            const std::string who = name_of(i) + ", after " + text_of(event) + ": ";
            return Broken{invariant, harness::text(who, how...)};
        };
        if (actions.start && node.lives) {
            return broken(
                "no worker of an older round lives in a new one",
                "it starts a worker, and the one before lives"
            );
        }
        if (actions.start && node.agent.round != node.round) {
            return broken(
                "all nodes of a round start their workers in it",
                "the round of its workers is another one than it was told"
            );
        }
        if (actions.start) {
            node.lives = true;
            node.is_told = node.is_killed = false;
        }
        if (actions.signal != 0 && node.lives) {
            node.is_killed = node.is_killed || actions.signal == SIGKILL;
            node.is_told = true;
        }
        world.is_closed = world.is_closed || (actions.close && !node.is_cut);
        if ((actions.leave || !node.is_in_round()) && !node.is_cut) {
            world.members.reset(i);  // or it asks for the next round
        }
        if (node.agent.end && !node.lives) {
            node.place = Place::is_over;
        } else if (!node.is_in_round()) {
            node.place = Place::asks;
        }
        return judged(world, i, actions, broken);
    }

    [[nodiscard]] static Verdict judged(
        const AgentWorld& world, std::size_t i, const AgentActions& actions, const auto& broken
    ) {
        const AgentNode& node = world.nodes[i];
        const std::optional<AgentEnd> end = node.agent.end;
        if (node.agent.restarts != node.paid) {
            return broken(
                "a failure costs one restart, and a change of members none", node.agent.restarts,
                " restarts, and in truth ", node.paid
            );
        }
        if (node.lives != (node.agent.alive == 1)) {
            return broken(
                "an agent knows whether its worker lives", node.agent.alive, " alive, workers ",
                text_of(node.agent.workers), ", and in truth it lives: ", node.lives
            );
        }
        const bool may_close = end == AgentEnd::failed || end == AgentEnd::succeeded;
        if (actions.close && !may_close) {
            return broken(
                "the rendezvous is closed by who fails or finishes, and by nobody else",
                text_of(actions), ", and ", text_of(end)
            );
        }
        if (node.place != Place::is_over || node.is_cut) {
            return {};
        }
        const bool all_done = world.is_finished && node.round.number == world.number;
        const char* const wrong =
            end == AgentEnd::succeeded && !all_done ? "who succeeds has seen all nodes finish"
            : may_close && !world.is_closed         ? "who fails or finishes closes the rendezvous"
            : world.members[i]                      ? "who ends leaves its round"
                                                    : nullptr;
        return wrong != nullptr ? broken(wrong, text_of(end)) : Verdict();
    }

    AgentSettings settings_;
    int faults_;
    mutable std::unordered_set<std::string> ends_well_;  // keys
};

}  // namespace dist::harness
