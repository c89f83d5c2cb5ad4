// launch --restart-alone: an agent for each worker, so that one which dies comes back while the
// others go on.
#pragma once

#include <atomic>
#include <csignal>

#include "course/elastic/launch_options.hpp"
#include "course/runtime/store.hpp"

namespace dist::elastic {

/// What workers get when launch got that: TERM for USR1 and USR2, which would end them without a word.
inline int for_workers(int signal) {
    return signal == SIGUSR1 || signal == SIGUSR2 ? SIGTERM : signal;
}

/// Runs the workers until each has ended well, or has used up its restarts; and no worker is
/// started again after the replicas of train --fault-tolerant have said that all steps are taken.
/// Tells their lighthouse of each death.
///
/// store   where the replicas meet.
/// signal  that came to this process; 0: none yet. All workers are told to end by it.
///
/// Returns  the exit status: 0 if a worker has ended well, else that of one that failed.
int run_replicas(const LaunchOptions& options, Store& store, const std::atomic<int>& signal);

}  // namespace dist::elastic
