// The worker processes of a node: copies of a program, none of which outlives the agent that started it.
#pragma once

#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "course/runtime/worker_group.hpp"

namespace dist::elastic {

/// Starts a program as the workers of a node.
///
/// A worker has the environment of this process and, in torchrun's words, RANK, LOCAL_RANK,
/// WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE and TORCHELASTIC_RESTART_COUNT;
/// SHARDLINGS_ROUND is the number of the round. No signal is blocked or ignored in it. Where the
/// program cannot be started, the worker ends with exit code 127.
///
/// The workers of a round are a process group, with all that they start. A signal goes to the whole
/// group, and wakes those that are stopped. When the last worker has ended, what is left of the group
/// is killed; and when this process ends, by whatever means, all of it. A worker that leaves the
/// group still gets signals, and ends with this process.
///
/// The thread that starts workers lives longer than they do: they end with it, as with the process.
class WorkerProcesses : public WorkerGroup {
  public:
    /// command  the program, which is looked for as a shell does, and its arguments; not empty.
    explicit WorkerProcesses(std::vector<std::string> command);

    /// Kills those that live.
    ~WorkerProcesses() override;
    WorkerProcesses(const WorkerProcesses&) = delete;
    WorkerProcesses& operator=(const WorkerProcesses&) = delete;

    void start(const WorkerRound& round, int restarts) override;

    /// Times are SteadyClock's: a thread waits for each worker, and asks for the time when it ends.
    std::vector<WorkerEnd> ended() override;

    void signal(int number) override;

  private:
    struct Worker {
        pid_t pid = 0;
        bool is_alive = true;
        std::thread waiter = {};
    };

    pid_t fork_leader();
    void wait_for(int local_rank);
    void end_group();

    std::vector<std::string> command_;
    SteadyClock clock_;
    pid_t leader_ = 0;             // of the process group; 0: there is none
    int lifeline_ = -1;            // a pipe that ends with this process: the leader kills the group
    std::mutex mutex_;             // of what waiters change
    std::vector<Worker> workers_;  // by local rank
    std::vector<WorkerEnd> ended_;  // and not told yet
};

}  // namespace dist::elastic
