#include "course/elastic/replicas.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "course/elastic/lighthouse.hpp"
#include "course/elastic/story.hpp"
#include "course/elastic/worker_logs.hpp"
#include "course/elastic/worker_processes.hpp"
#include "exercises/10_elastic/elastic_agent.hpp"

namespace dist::elastic {
namespace {

/// The lives of one worker: each is a round of its own.
class Lives : public Rounds {
  public:
    Lives(int rank, int ranks, Lighthouse& lighthouse) : lighthouse_(lighthouse) {
        round_.first_rank = rank;
        round_.world_size = ranks;
    }

    std::optional<WorkerRound> next() override {
        if (lighthouse_.is_finished()) {
            return std::nullopt;
        }
        ++round_.number;
        return round_;
    }
    bool holds() override { return true; }
    bool finish() override { return true; }
    void leave() override {}
    void close() override {}

  private:
    Lighthouse& lighthouse_;
    WorkerRound round_ = {};
};

/// The process of one worker.
class LoneWorker : public WorkerGroup {
  public:
    LoneWorker(const LaunchOptions& options, WorkerLogs& logs, Lighthouse& lighthouse)
        : run_(options.run),
          logs_(logs),
          lighthouse_(lighthouse),
          processes_(logs.keep(options.command)) {}

    void start(const WorkerRound& round, int restarts) override {
        static std::mutex one_at_a_time;  // all share this process's environment
        const std::scoped_lock guard(one_at_a_time);
        name_ = replica_name(round.first_rank, round.number);
        setenv("STORE_PREFIX", (run_ + "/alone/" + name_).c_str(), 1);
        logs_.begin(round);
        processes_.start(round, restarts);
    }

    std::vector<WorkerEnd> ended() override {
        std::vector<WorkerEnd> ended = processes_.ended();
        if (!ended.empty()) {
            lighthouse_.forget(name_);
        }
        return ended;
    }

    void signal(int number) override { processes_.signal(for_workers(number)); }

  private:
    std::string run_;
    WorkerLogs& logs_;
    Lighthouse& lighthouse_;
    WorkerProcesses processes_;
    std::string name_ = {};
};

AgentSettings settings_of_each(const LaunchOptions& options) {
    constexpr Clock::Duration kLook{10};  // the others wait for the news of a death
    return {
        .max_restarts = options.max_restarts,
        .monitor_interval = std::min(options.monitor_interval, kLook),
        .grace = options.grace};
}

/// A worker, and who looks after it.
struct Lone {
    Lone(const LaunchOptions& options, int rank, Lighthouse& lighthouse)
        : lives(rank, options.workers, lighthouse),
          logs(options.logs),
          worker(options, logs, lighthouse),
          story(options, logs),
          agent(
              lives,
              worker,
              clock,
              settings_of_each(options),
              [this](const AgentLogEntry& entry) { story.tell(entry); }
          ) {}

    /// Returns the exit status; none if all steps were taken before it came back.
    std::optional<int> run() {
        const AgentResult result = agent.run();
        switch (result.end) {
            case AgentEnd::succeeded:
                return 0;
            case AgentEnd::closed:
                return std::nullopt;
            default:
                return story.end(result);
        }
    }

    SteadyClock clock = {};
    Lives lives;
    WorkerLogs logs;
    LoneWorker worker;
    Story story;
    ElasticAgent agent;
};

}  // namespace

int run_replicas(const LaunchOptions& options, Store& store, const std::atomic<int>& signal) {
    SteadyClock clock;
    Lighthouse lighthouse(store, options.run, options.workers, clock);
    std::vector<std::unique_ptr<Lone>> all;
    std::vector<std::future<std::optional<int>>> ends;
    for (int rank = 0; rank < options.workers; ++rank) {
        all.push_back(std::make_unique<Lone>(options, rank, lighthouse));
        ends.push_back(std::async(std::launch::async, [&one = *all.back()] { return one.run(); }));
    }
    int well = 0;
    int status = 0;
    for (std::future<std::optional<int>>& end : ends) {
        constexpr std::chrono::milliseconds kLook{50};
        while (end.wait_for(kLook) != std::future_status::ready) {
            if (const int number = signal; number != 0) {
                std::ranges::for_each(all, [&](auto& one) { one->agent.interrupt(number); });
            }
        }
        const std::optional<int> its_status = end.get();
        well += its_status == 0 ? 1 : 0;
        status = status == 0 ? its_status.value_or(0) : status;
    }
    if (signal == 0 && well > 0) {
        std::fprintf(stderr, "launch: %d of %d ranks have ended well\n", well, options.workers);
        return 0;
    }
    return status;
}

}  // namespace dist::elastic
