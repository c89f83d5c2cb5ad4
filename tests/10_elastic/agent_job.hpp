// A job of several nodes: agents in threads that go on one at a time, with rounds that they make together.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/10_elastic/agent_workers.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/world/virtual_time.hpp"

namespace dist::harness {

/// A node with two workers.
struct NodeScript {
    std::map<std::int64_t, WorkerScript> rounds = {};  // of worker 0; in all others it ends well
    Ms comes{0};
    Ms signal = kNever;  // to its agent: SIGTERM
};

class AgentJob {
  public:
    std::vector<NodeScript> nodes;
    std::vector<AgentResult> results;               // by node
    std::vector<std::vector<std::int64_t>> rounds;  // that each was in

    /// Runs all agents to their ends. False if one throws.
    Comparison play(std::uint64_t seed) {
        VirtualTime time(seed);
        time_ = &time;
        std::vector<std::function<void()>> plots;
        std::vector<std::unique_ptr<Node>> all;
        results.resize(nodes.size());
        rounds.resize(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            all.push_back(std::make_unique<Node>(*this, static_cast<int>(i)));
            plots.emplace_back([this, i, &all] {
                time_->sleep(nodes[i].comes);
                results[i] = all[i]->agent.run();
            });
        }
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].signal != kNever) {
                plots.emplace_back([this, i, &all] {
                    time_->sleep(nodes[i].signal);
                    all[i]->agent.interrupt(SIGTERM);
                });
            }
        }
        for (const std::string& end : time.run(plots)) {
            if (!end.empty()) {
                return {false, end};
            }
        }
        return {};
    }

    /// Whether the agent of a node ended so, after so many restarts, in those rounds.
    [[nodiscard]] Comparison ends(
        std::size_t node, AgentEnd end, int restarts, const std::vector<std::int64_t>& its_rounds
    ) const {
        const auto text = [](AgentEnd how, int paid, const std::vector<std::int64_t>& numbers) {
            std::string all = text_of(how) + ", restarts " + std::to_string(paid) + ", rounds";
            for (const std::int64_t number : numbers) {
                all += " " + std::to_string(number);
            }
            return all;
        };
        const AgentResult& got = results[node];
        return {
            got.end == end && got.restarts == restarts && rounds[node] == its_rounds,
            "node " + std::to_string(node) + ": expected " + text(end, restarts, its_rounds) +
                ", got " + text(got.end, got.restarts, rounds[node])};
    }

  private:
    static constexpr Ms kLastCall = 500ms;

    struct Node : Rounds, WorkerGroup {
        Node(AgentJob& its, int number)
            : job(its),
              me(number),
              clock(*its.time_),
              agent(
                  *this, *this, clock, {.max_restarts = 1, .monitor_interval = 100ms, .grace = 1s}
              ) {}

        std::optional<WorkerRound> next() override { return job.next(*this); }
        bool holds() override {
            job.time_->pass();
            return job.members_.contains(me) && job.members_.size() == job.size_ &&
                   job.waiting_.empty();
        }
        bool finish() override {
            job.time_->pass();
            job.finished_.insert(me);
            return job.finished_.size() == job.size_;
        }
        void leave() override {
            job.time_->pass();
            job.members_.erase(me);
            job.waiting_.erase(me);
        }
        void close() override {
            job.time_->pass();
            job.is_closed_ = true;
        }
        void start(const WorkerRound& round, int) override { job.start(*this, round); }
        std::vector<WorkerEnd> ended() override { return workers.ended(clock.now()); }
        void signal(int number) override { workers.signal(number, clock.now()); }

        AgentJob& job;
        int me;
        VirtualClock clock;
        ScriptedWorkers workers;
        ElasticAgent agent;
    };

    /// Waits until all others have left their round, and as many as will come have come.
    std::optional<WorkerRound> next(Node& node) {
        members_.erase(node.me);
        waiting_.insert(node.me);
        last_came_ = time_->now();
        for (;;) {
            if (is_closed_) {
                waiting_.erase(node.me);
                return std::nullopt;
            }
            if (members_.empty() && time_->now() - last_came_ >= kLastCall) {
                members_ = std::exchange(waiting_, {});
                finished_.clear();
                size_ = members_.size();
                ++number_;
            }
            if (members_.contains(node.me)) {
                rounds[static_cast<std::size_t>(node.me)].push_back(number_);
                return WorkerRound{.number = number_, .workers = 2};
            }
            time_->sleep(50ms);
        }
    }

    void start(Node& node, const WorkerRound& round) {
        const auto& scripts = nodes[static_cast<std::size_t>(node.me)].rounds;
        const auto found = scripts.find(round.number);
        const WorkerScript first = found == scripts.end() ? kEndsWell : found->second;
        const bool is_good = first.exit_code == 0 && first.signal == 0;
        node.workers.start({first, is_good ? first : kRuns}, time_->now());
    }

    VirtualTime* time_ = nullptr;
    std::set<int> members_;   // of the round that has begun; those that left are not
    std::set<int> waiting_;   // for the next one
    std::set<int> finished_;  // of the members
    std::size_t size_ = 0;    // of the round, when it began
    std::int64_t number_ = 0;
    Ms last_came_{0};
    bool is_closed_ = false;
};

/// Plays a job with several seeds: who goes on first where several agents could.
inline void with_jobs(
    const std::vector<NodeScript>& nodes, const std::function<void(const AgentJob&)>& looks
) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        INFO("seed " << seed);
        AgentJob job;
        job.nodes = nodes;
        const Comparison result = job.play(seed);
        REQUIRE(result);
        looks(job);
    }
}

inline void one_pays_for_all() {
    with_jobs({{.rounds = {{1, kCrashes}}}, {.rounds = {{1, kRuns}}}, {}}, [](const AgentJob& job) {
        CHECK(job.ends(0, AgentEnd::succeeded, 1, {1, 2}));
        CHECK(job.ends(1, AgentEnd::succeeded, 0, {1, 2}));
        CHECK(job.ends(2, AgentEnd::succeeded, 0, {1, 2}));
    });
}

inline void one_gives_up() {
    const NodeScript runs = {.rounds = {{1, kRuns}, {2, kRuns}}};
    const NodeScript crashes = {.rounds = {{1, kCrashes}, {2, kCrashes}}};
    with_jobs({runs, crashes, runs}, [](const AgentJob& job) {
        CHECK(job.ends(0, AgentEnd::closed, 0, {1, 2}));
        CHECK(job.ends(1, AgentEnd::failed, 1, {1, 2}));
        CHECK(job.ends(2, AgentEnd::closed, 0, {1, 2}));
    });
}

inline void one_is_told_to_end() {
    const NodeScript runs = {.rounds = {{1, kRuns}}};
    with_jobs({runs, runs, {.rounds = runs.rounds, .signal = 2s}}, [](const AgentJob& job) {
        CHECK(job.ends(0, AgentEnd::succeeded, 0, {1, 2}));
        CHECK(job.ends(1, AgentEnd::succeeded, 0, {1, 2}));
        CHECK(job.ends(2, AgentEnd::interrupted, 0, {1}));
    });
}

inline void one_comes_late() {
    const NodeScript runs = {.rounds = {{1, kRuns}}};
    with_jobs({runs, {.comes = 3s}, runs}, [](const AgentJob& job) {
        CHECK(job.ends(0, AgentEnd::succeeded, 0, {1, 2}));
        CHECK(job.ends(1, AgentEnd::succeeded, 0, {2}));
        CHECK(job.ends(2, AgentEnd::succeeded, 0, {1, 2}));
    });
}

inline void one_takes_longer() {
    const WorkerScript slow = {.ends = 60s};
    with_jobs({{}, {.rounds = {{1, slow}}}, {}}, [](const AgentJob& job) {
        for (const std::size_t node : {0U, 1U, 2U}) {
            CHECK(job.ends(node, AgentEnd::succeeded, 0, {1}));
        }
    });
}

}  // namespace dist::harness
