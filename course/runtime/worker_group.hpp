// The worker processes of one node, as its agent sees them.
#pragma once

#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/rounds.hpp"

namespace dist {

/// How a worker process ended.
struct WorkerEnd {
    int local_rank = 0;
    int exit_code = 0;      // where no signal ended it
    int signal = 0;         // that ended it; 0: none did
    Clock::Duration at{0};  // when it ended, by the agent's clock

    [[nodiscard]] bool is_good() const { return exit_code == 0 && signal == 0; }

    bool operator==(const WorkerEnd&) const = default;
};

/// Starts the workers of a node, round after round. No call waits. One thread uses it.
class WorkerGroup {
  public:
    WorkerGroup() = default;
    WorkerGroup(const WorkerGroup&) = delete;
    WorkerGroup& operator=(const WorkerGroup&) = delete;
    virtual ~WorkerGroup() = default;

    /// Starts the `round.workers` workers of this node. Those of the round before have all ended.
    ///
    /// restarts  how many failures there were before, which the workers are told.
    ///
    /// Errors    Error if no process can be started; then none is left.
    virtual void start(const WorkerRound& round, int restarts) = 0;

    /// The workers that have ended since the last call, in any order.
    virtual std::vector<WorkerEnd> ended() = 0;

    /// Sends a signal to all workers that live.
    virtual void signal(int number) = 0;
};

}  // namespace dist
