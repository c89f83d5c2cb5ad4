// Locks of the harness, and processes that are forked while other threads hold them: in a child nobody would let them go.
#pragma once

#include <mutex>
#include <pthread.h>

namespace dist::harness {

/// From here on whoever forks holds `lock` meanwhile. What is kept later is taken earlier: a lock that is taken while another
/// one is held has to be kept before that.
template <std::mutex& (*lock)()>
void keep_over_fork() {
    static const int once =
        pthread_atfork([] { lock().lock(); }, [] { lock().unlock(); }, [] { lock().unlock(); });
    static_cast<void>(once);
}

void keep_blocks_over_fork();   // job/allocations.cpp
void keep_traffic_over_fork();  // mpi/traffic.cpp
void keep_threads_over_fork();  // job/threads.cpp

/// All that a process needs which is forked beside threads.
inline void keep_locks_over_fork() {
    keep_blocks_over_fork();
    keep_traffic_over_fork();
    keep_threads_over_fork();
}

}  // namespace dist::harness
