// An agent whose workers are real processes: small scripts of the shell.
#pragma once

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/elastic/worker_processes.hpp"
#include "exercises/10_elastic/elastic_agent.hpp"
#include "tests/10_elastic/agent_text.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/processes.hpp"

namespace dist::harness {

using elastic::WorkerProcesses;

/// A pipe that workers inherit, with all that they start: it ends when the last of them has.
class Pipe {
  public:
    Pipe() { is_made_ = pipe(ends_.data()) == 0; }
    ~Pipe() {
        close(ends_[0]);
        close_writing();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    [[nodiscard]] bool is_made() const { return is_made_; }
    [[nodiscard]] std::string reading() const { return path(ends_[0]); }
    [[nodiscard]] std::string writing() const { return path(ends_[1]); }

    /// So many bytes; fewer if it ends before.
    [[nodiscard]] std::string read(std::size_t most) const {
        std::string text;
        char letter = 0;
        while (text.size() < most && ::read(ends_[0], &letter, 1) == 1) {
            text += letter;
        }
        return text;
    }

    /// All that comes, until nobody can write any more: for ever, where a process is left.
    std::string read_all() {
        close_writing();
        return read(std::string::npos);
    }

  private:
    static std::string path(int end) { return "/proc/self/fd/" + std::to_string(end); }

    void close_writing() {
        if (ends_[1] >= 0) {
            close(std::exchange(ends_[1], -1));
        }
    }

    std::array<int, 2> ends_ = {-1, -1};
    bool is_made_ = false;
};

/// Round after round of one node among three; they all hold.
class OneNode : public Rounds {
  public:
    explicit OneNode(int workers) : workers_(workers) {}

    std::optional<WorkerRound> next() override {
        return WorkerRound{
            .number = ++number_,
            .node = 1,
            .nodes = 3,
            .first_rank = workers_,
            .workers = workers_,
            .world_size = 3 * workers_};
    }
    bool holds() override { return true; }
    bool finish() override { return true; }
    void leave() override {}
    void close() override {}

  private:
    int workers_;
    std::int64_t number_ = 0;
};

inline AgentResult run_script(const std::string& script, int workers, AgentSettings settings) {
    settings.monitor_interval = 5ms;
    OneNode node(workers);
    WorkerProcesses group({"sh", "-c", script});
    SteadyClock clock;
    return ElasticAgent(node, group, clock, settings).run();
}

/// The record of a worker, in words.
inline std::string record_of(const AgentResult& result, int local_rank) {
    for (const auto& [end, fate] : result.workers) {
        if (end.local_rank == local_rank) {
            return text_of(fate) + ", " +
                   (end.signal != 0 ? text_of_signal(end.signal)
                                    : "exit code " + std::to_string(end.exit_code));
        }
    }
    return "no record";
}

inline void workers_have_an_environment() {
    Pipe told;
    Pipe go;
    REQUIRE((told.is_made() && go.is_made()));
    // worker 0 of the first round fails when the other one has spoken
    const AgentResult result = run_script(
        "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE "
        "$TORCHELASTIC_RESTART_COUNT $SHARDLINGS_ROUND > " +
            told.writing() + "; case $SHARDLINGS_ROUND$LOCAL_RANK in 10) read x < " + go.reading() +
            "; exit 3;; 11) echo go > " + go.writing() + "; exec sleep 1000;; esac",
        2, {.max_restarts = 1}
    );
    CHECK(result.end == AgentEnd::succeeded);
    CHECK(result.restarts == 1);
    const std::string text = told.read_all();
    for (const std::string line :
         {"2 0 6 2 1 3 0 1\n", "3 1 6 2 1 3 0 1\n", "2 0 6 2 1 3 1 2\n", "3 1 6 2 1 3 1 2\n"}) {
        INFO("a worker of these should have said: " << line << "They said:\n" << text);
        CHECK(text.find(line) != std::string::npos);
    }
}

inline void workers_end_by_all_means() {
    Pipe lives;
    Pipe go;
    REQUIRE((lives.is_made() && go.is_made()));
    // 1 ignores SIGTERM, and so does its child; 2 stands still, and has a child
    const AgentResult result = run_script(
        "case $LOCAL_RANK in 0) read x < " + go.reading() + "; read x < " + go.reading() +
            "; exit 3;; 1) trap '' TERM; echo go > " + go.writing() +
            "; sleep 1000; sleep 1000;; 2) sleep 1000 & echo go > " + go.writing() +
            "; kill -STOP $$;; esac",
        3, {.max_restarts = 0, .grace = 50ms}
    );
    CHECK(result.end == AgentEnd::failed);
    CHECK(record_of(result, 0) == "failed, exit code 3");
    CHECK(record_of(result, 1) == "terminated, SIGKILL");
    CHECK(record_of(result, 2) == "terminated, SIGTERM");
    INFO("a process of a worker is left");
    CHECK(lives.read_all().empty());
}

/// The machine's own, but a sleep takes until all have ended that hold a pipe.
class PatientClock : public SteadyClock {
  public:
    explicit PatientClock(Pipe& lives) : lives_(lives) {}

    void sleep(Duration) override {
        lives_.read_all();
        SteadyClock::sleep(5ms);
    }

  private:
    Pipe& lives_;
};

inline void workers_tell_when_they_ended() {
    Pipe lives;
    Pipe go;
    REQUIRE((lives.is_made() && go.is_made()));
    OneNode node(2);
    WorkerProcesses group(
        {"sh", "-c",
         "case $LOCAL_RANK in 0) read other < " + go.reading() +
             "; while kill -0 $other; do sleep 0.01; done; sleep 0.02; exit 5;; 1) echo $$ > " +
             go.writing() + "; exit 4;; esac 2> /dev/null"}
    );
    PatientClock clock(lives);
    const AgentResult result = ElasticAgent(node, group, clock, {.max_restarts = 0}).run();
    INFO("worker 0 waits until worker 1 has ended, and both are noticed together");
    REQUIRE(result.cause);
    CHECK(result.cause->local_rank == 1);
    CHECK(result.cause->exit_code == 4);
    CHECK(result.end == AgentEnd::failed);
}

/// The machine's own, but who sleeps by it is killed when so many workers have come.
class DeadlyClock : public SteadyClock {
  public:
    DeadlyClock(const Pipe& here, std::size_t workers) : here_(here), workers_(workers) {}

    void sleep(Duration) override {
        if (here_.read(workers_).size() == workers_) {
            raise(SIGKILL);
        }
    }

  private:
    const Pipe& here_;
    std::size_t workers_;
};

inline void workers_end_with_the_agent() {
    Pipe lives;
    Pipe here;
    REQUIRE((lives.is_made() && here.is_made()));
    const Processes run = on_processes(
        1,
        [&](int, int) {
            OneNode node(2);
            // both ignore SIGTERM, and one has a child
            WorkerProcesses group(
                {"sh", "-c",
                 "trap '' TERM; case $LOCAL_RANK in 0) sleep 1000 & ;; esac; printf x > " +
                     here.writing() + "; exec sleep 1000"}
            );
            DeadlyClock clock(here, 2);
            ElasticAgent(node, group, clock, {}).run();
        },
        {.die = {0}}
    );
    CHECK(run.died[0] == "killed by SIGKILL");
    INFO("a process of a worker is left");
    CHECK(lives.read_all().empty());
}

}  // namespace dist::harness
