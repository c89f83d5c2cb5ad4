// What this process has: descriptors and threads. What is under test leaves none of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
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

inline std::set<std::string> thread_numbers() {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        all.insert(entry.path().filename());
    }
    return all;
}

/// What Linux says of a thread of this process: its "State", its "voluntary_ctxt_switches", ...
inline std::string thread_status(const std::string& number, const std::string& field) {
    std::ifstream file("/proc/self/task/" + number + "/status");
    std::string word;
    while (file >> word && word != field + ":") {
    }
    file >> word;
    return word;
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
