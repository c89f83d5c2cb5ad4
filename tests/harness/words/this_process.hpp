// What this process has and takes: descriptors, threads, memory, the processor's time.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <sys/resource.h>
#include <thread>

namespace dist::harness {

/// The names in a folder of /proc/self: "fd", "task".
inline std::set<std::string> names_in(const std::string& folder) {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/" + folder)) {
        all.insert(entry.path().filename());
    }
    return all;
}

/// How many they are.
inline long entries(const std::string& folder) {
    return static_cast<long>(names_in(folder).size());
}

/// What Linux says of a thread of this process: its "State", its "voluntary_ctxt_switches"; "" if it has ended.
inline std::string thread_status(const std::string& number, const std::string& field) {
    std::ifstream file("/proc/self/task/" + number + "/status");
    std::string word;
    while (file >> word && word != field + ":") {
    }
    file >> word;
    return file ? word : "";
}

/// Seconds of the processor's time that this process has taken.
inline double used_cpu_s() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// The most memory that this process has had, in MB.
inline double most_memory_mb() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_maxrss) / 1000;
}

inline void nap(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// Waits until something holds, but not for ever.
inline bool becomes_true(
    const std::function<bool()>& holds, std::chrono::milliseconds at_most = std::chrono::seconds(4)
) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

}  // namespace dist::harness
