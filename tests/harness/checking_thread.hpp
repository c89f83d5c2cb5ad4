// Which thread may CHECK, REQUIRE and INFO: Catch2 keeps what it knows of a check in one place, without a lock.
#pragma once

#include <atomic>
#include <thread>

namespace dist::harness {

inline std::atomic<std::thread::id> checking_thread;

/// From here on this thread may, and no other: the test's own thread as a test begins, later each one of several that
/// take turns.
inline void this_thread_checks() {
    checking_thread = std::this_thread::get_id();
}

}  // namespace dist::harness
