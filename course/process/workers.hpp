// Work that may be done in any order, by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <future>
#include <thread>
#include <vector>

namespace dist::cli {

/// Threads that keep this machine busy: one a core, and two where there is one, since each waits for others' programs.
inline std::size_t busy_threads() {
    return std::max(2U, std::thread::hardware_concurrency());
}

/// Calls work(0) to work(n - 1) on so many threads, and then(i) on this one, in their order, as soon as
/// work(i) has ended.
///
/// Errors  what work(i) throws comes from here, in the place of then(i); what has not begun by then, does not.
template <class Work, class Then>
void on_threads(std::size_t count, std::size_t n, const Work& work, const Then& then) {
    std::vector<std::promise<void>> ended(n);
    std::atomic<std::size_t> next = 0;
    std::vector<std::future<void>> threads(count);
    for (std::future<void>& thread : threads) {
        thread = std::async(std::launch::async, [&] {
            for (std::size_t i = next++; i < n; i = next++) {
                try {
                    work(i);
                    ended[i].set_value();
                } catch (...) {
                    ended[i].set_exception(std::current_exception());
                }
            }
        });
    }
    try {
        for (std::size_t i = 0; i < n; ++i) {
            ended[i].get_future().get();
            then(i);
        }
    } catch (...) {
        next = n;
        throw;
    }
}

}  // namespace dist::cli
