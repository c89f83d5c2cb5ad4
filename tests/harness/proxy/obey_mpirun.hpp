// mpirun ends every rank when one has ended badly. Nobody else does: a rank that sends a signal to its whole group dies
// of it, and its watcher and its proxy, which are in the group, stay.
#pragma once

#include <atomic>
#include <csignal>
#include <sys/types.h>

namespace dist::harness {

inline std::atomic<pid_t> obeyed = 0;
inline std::atomic<bool> mpirun_ends_us = false;

/// From now on SIGTERM from mpirun is noted, and other requests to end are ignored.
inline void obey_mpirun_only(pid_t mpirun) {
    obeyed = mpirun;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
        mpirun_ends_us = mpirun_ends_us || info->si_pid == obeyed;
    };
    sigaction(SIGTERM, &action, nullptr);
    for (const int signal : {SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
        std::signal(signal, SIG_IGN);
    }
}

}  // namespace dist::harness
