// How processes that share memory wait for each other, without looking again and again.
#pragma once

#include <atomic>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dist::harness {

static_assert(sizeof(std::atomic<int>) == sizeof(int) && std::atomic<int>::is_always_lock_free);

/// Waits until `value` is no longer `seen`. Returns before that, too: when a signal came, or `most_ms` have gone.
inline void wait_while(const std::atomic<int>& value, int seen, int most_ms) {
    const timespec most = {most_ms / 1000, most_ms % 1000 * 1'000'000L};
    syscall(SYS_futex, &value, FUTEX_WAIT, seen, &most, nullptr, 0);
}

/// Stores it, and wakes all who wait.
inline void store_and_wake(std::atomic<int>& value, int now) {
    constexpr int kAll = 1 << 30;
    value = now;
    syscall(SYS_futex, &value, FUTEX_WAKE, kAll, nullptr, nullptr, 0);
}

}  // namespace dist::harness
