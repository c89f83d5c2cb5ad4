// What this process has: descriptors and threads. What is under test leaves none of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <thread>

namespace dist::harness {

inline std::ptrdiff_t entries_of(const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
}
inline std::ptrdiff_t open_descriptors() {
    return entries_of("/proc/self/fd");
}
inline std::ptrdiff_t threads() {
    return entries_of("/proc/self/task");
}

/// Waits until something holds; but not for ever.
inline bool becomes_true(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

}  // namespace dist::harness
