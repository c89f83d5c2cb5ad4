// A job whose nodes come, work, finish, die, stand still and are cut off, in a virtual time; and
// what must hold, whatever becomes of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exercises/10_elastic/membership.hpp"
#include "tests/04_groups_and_rendezvous/watched_store.hpp"
#include "tests/10_elastic/node_store.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;

inline constexpr Ms kLook = 500ms;  // from one look of an agent to the next
inline constexpr Ms kDeadAfter = 4s;
inline constexpr Ms kNoticed = 6s;  // a death: dead_after, a heartbeat, and looks of both sides

inline RendezvousSettings between(int min_nodes, int max_nodes) {
    return {
        .min_nodes = min_nodes,
        .max_nodes = max_nodes,
        .last_call = 2s,
        .join_timeout = 60s,
        .heartbeat = 1s,
        .dead_after = kDeadAfter,
        .poll = kLook};
}

/// What a node throws when it dies. It is no std::exception: nobody takes it for an error.
struct Dies {};

/// "round 2: node 0 of 2, ranks 0-1 of 3"
inline std::string text_of(const WorkerRound& round) {
    return "round " + std::to_string(round.number) + ": node " + std::to_string(round.node) +
           " of " + std::to_string(round.nodes) + ", ranks " + std::to_string(round.first_rank) +
           "-" + std::to_string(round.first_rank + round.workers - 1) + " of " +
           std::to_string(round.world_size);
}

class Job;

/// One node, and what its agent does. What happens is kept for the end: no check is made in a
/// thread.
class Agent {
  public:
    Agent(Job& job, std::string its_name, int its_workers, Ms skew);

    /// As Membership has them.
    std::optional<WorkerRound> next();
    bool holds() { return node_.holds(); }
    bool finish();
    bool finish_in_no_round() { return node_.finish(); }
    void leave() { node_.leave(); }
    void close() { node_.close(); }

    /// Stays in its round until this moment, or while it holds. Returns whether it still does.
    bool stay_until(Ms moment);
    /// Stays in its round, and says from that moment on that it has finished. Returns whether the
    /// job is; not if the round breaks before.
    bool work_until(Ms moment);
    /// Round after round, each for so long, until the job is finished or closed. What the store
    /// throws it tries again.
    void run(Ms duration);

    std::string name;
    int workers;
    VirtualClock clock;
    NodeStore store;
    std::vector<WorkerRound> rounds;  // all that it was told
    std::int64_t said = 0;            // the last round in which it has called finish()
    std::int64_t finished = 0;        // the round in which that was true
    bool is_over = false;             // next() was none
    bool is_dead = false;

  private:
    template <class Call>
    auto again(const Call& call) {
        for (;;) {
            try {
                return call();
            } catch (const Timeout&) {
                throw;
            } catch (const Error&) {
                clock.sleep(kLook);
            }
        }
    }

    Job& job_;
    Membership node_;
};

class Job {
  public:
    static constexpr const char* kName = "job";

    RendezvousSettings settings;
    VirtualTime time;
    WatchedStore store;
    std::vector<std::unique_ptr<Agent>> agents;

    explicit Job(const RendezvousSettings& its_settings, std::uint64_t seed = 0)
        : settings(its_settings), time(seed) {}
    Job(const RendezvousSettings& its_settings, VirtualTime::Choose choose)
        : settings(its_settings), time(std::move(choose)) {}

    /// A node that comes at a time, and what it does then. It dies where that ends, without a word,
    /// or where Dies is thrown.
    Agent& add(
        const std::string& name,
        int workers,
        Ms start,
        const std::function<void(Agent&)>& plot,
        Ms skew = Ms(0)
    ) {
        agents.push_back(std::make_unique<Agent>(*this, name, workers, skew));
        Agent& agent = *agents.back();
        plots_.emplace_back([this, &agent, start, plot] {
            time.sleep(start);
            try {
                plot(agent);
            } catch (const Dies&) {
                agent.is_dead = true;
            }
        });
        return agent;
    }

    /// Plays to the end. Says what is wrong, if something is.
    Comparison play() {
        const std::vector<std::string> ends = time.run(plots_);
        std::string wrong = wrong_;
        for (std::size_t i = 0; i < ends.size() && wrong.empty(); ++i) {
            wrong = ends[i].empty() ? "" : agents[i]->name + ": " + ends[i];
        }
        for (const auto& one : agents) {
            for (const auto& other : agents) {
                wrong = wrong.empty() ? wrong_between(*one, *other) : wrong;
            }
        }
        return {wrong.empty(), wrong + text()};
    }

    /// Whether all nodes that live have come to the end of the job.
    [[nodiscard]] Comparison all_end() const {
        for (const auto& agent : agents) {
            if (!agent->is_dead && agent->finished == 0 && !agent->is_over) {
                return {false, agent->name + " did not come to the end of the job" + text()};
            }
        }
        return {};
    }

    /// What each node was told, a line for each.
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const auto& agent : agents) {
            text += "\n  " + agent->name + (agent->is_dead ? ", which died: " : ": ");
            for (const WorkerRound& round : agent->rounds) {
                text += text_of(round) + "; ";
            }
            text += agent->finished > 0 ? "finished" : agent->is_over ? "no more rounds" : "";
        }
        return text;
    }

    void note(const std::string& wrong) { wrong_ = wrong_.empty() ? wrong : wrong_; }

    /// The first round in which finish() was true on a node; 0: none.
    [[nodiscard]] std::int64_t finished() const {
        std::int64_t first = 0;
        for (const auto& agent : agents) {
            const std::int64_t number = agent->finished;
            first = number > 0 && (first == 0 || number < first) ? number : first;
        }
        return first;
    }

    /// How many nodes have called finish() in a round.
    [[nodiscard]] int said(std::int64_t number) const {
        return static_cast<int>(std::ranges::count_if(agents, [&](const auto& agent) {
            return agent->said == number;
        }));
    }

  private:
    /// What is wrong with the rounds of one node, beside those of another one or itself.
    [[nodiscard]] std::string wrong_between(const Agent& one, const Agent& other) const {
        std::int64_t last = 0;
        for (const WorkerRound& mine : one.rounds) {
            const std::string told = one.name + " is told " + text_of(mine);
            if (mine.number <= last) {
                return told + ", after round " + std::to_string(last);
            }
            last = mine.number;
            if (const std::int64_t number = finished(); number > 0 && mine.number > number) {
                return told + ", although round " + std::to_string(number) + " is finished";
            }
            for (const WorkerRound& its : other.rounds) {
                if (its.number != mine.number) {
                    continue;
                }
                const std::string wrong = &one == &other          ? wrong_with(mine, one)
                                          : one.name < other.name ? wrong_with(mine, its)
                                                                  : "";
                if (!wrong.empty()) {
                    const std::string beside = ", and " + other.name + " " + text_of(its);
                    return told + (&one == &other ? "" : beside) + ": " + wrong;
                }
            }
        }
        return "";
    }

    [[nodiscard]] std::string wrong_with(const WorkerRound& round, const Agent& agent) const {
        const int end = round.first_rank + round.workers;
        if (round.workers != agent.workers) {
            return "it has " + std::to_string(agent.workers) + " workers";
        }
        if (round.nodes < settings.min_nodes || round.nodes > settings.max_nodes) {
            return "that are too few nodes, or too many";
        }
        if (round.node < 0 || round.node >= round.nodes) {
            return "there is no such node";
        }
        if ((round.node == 0) != (round.first_rank == 0)) {
            return "the first node has the first ranks, and no other one";
        }
        if (end > round.world_size ||
            (round.node == round.nodes - 1) != (end == round.world_size)) {
            return "the last node has the last ranks, and no other one";
        }
        return "";
    }

    /// Of two nodes in a round, by name.
    [[nodiscard]] static std::string wrong_with(
        const WorkerRound& first, const WorkerRound& second
    ) {
        if (first.nodes != second.nodes || first.world_size != second.world_size) {
            return "these are two sizes for one round";
        }
        if (first.node >= second.node) {
            return "nodes have their ranks by name";
        }
        const int end = first.first_rank + first.workers;
        if (end > second.first_rank) {
            return "a rank is there twice";
        }
        if (second.node == first.node + 1 && end < second.first_rank) {
            return "a rank between them is missing";
        }
        return "";
    }

    std::vector<std::function<void()>> plots_;
    std::string wrong_;
};

inline Agent::Agent(Job& job, std::string its_name, int its_workers, Ms skew)
    : name(std::move(its_name)),
      workers(its_workers),
      clock(job.time, skew),
      store(job.store, job.time),
      job_(job),
      node_(store, Job::kName, name, workers, job.settings, clock) {}

inline std::optional<WorkerRound> Agent::next() {
    const auto round = node_.next();
    if (round) {
        rounds.push_back(*round);
    }
    is_over = !round;
    return round;
}

inline bool Agent::finish() {
    const WorkerRound& round = rounds.back();
    const std::string in_round = " in round " + std::to_string(round.number);
    const bool was_finished = job_.finished() == round.number;
    said = round.number;
    const bool is_finished = node_.finish();
    if (is_finished && job_.said(round.number) < round.nodes) {
        job_.note(name + ": finish() is true" + in_round + ", and not all nodes have called it");
    }
    if (was_finished && !is_finished) {
        job_.note(name + ": finish() is false" + in_round + ", after it was true on another node");
    }
    finished = is_finished ? round.number : finished;
    return is_finished;
}

inline bool Agent::stay_until(Ms moment) {
    while (job_.time.now() < moment) {
        clock.sleep(kLook);
        if (!holds()) {
            return false;
        }
    }
    return true;
}

inline bool Agent::work_until(Ms moment) {
    for (;;) {
        if (job_.time.now() >= moment && again([&] { return finish(); })) {
            return true;
        }
        if (!again([&] { return holds(); })) {
            return false;
        }
        clock.sleep(kLook);
    }
}

inline void Agent::run(Ms duration) {
    while (again([&] { return next(); })) {
        if (work_until(job_.time.now() + duration)) {
            return;
        }
    }
}

}  // namespace dist::harness
