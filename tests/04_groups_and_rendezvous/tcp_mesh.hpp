// Processes that are connected in pairs over loopback before they start, and what they send each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <dirent.h>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include "course/net/socket.hpp"
#include "tests/harness/processes/processes.hpp"

namespace dist::harness {

/// Where the higher rank of a pair connects to reach the lower one, who listens at `port`: elsewhere, if something stands
/// between them.
using Route = std::function<int(int port, int high, int low)>;

/// One connection for each pair of p ranks: in the place of what full_mesh() makes.
class Mesh {
  public:
    explicit Mesh(
        int p, const Route& route = [](int port, int, int) { return port; }
    )
        : rows_(static_cast<std::size_t>(p)) {
        const net::Socket listener = net::listen_on(0);
        const auto port = net::local_port(listener);
        for (auto& row : rows_) {
            row.resize(rows_.size());
        }
        for (std::size_t high = 0; high < rows_.size(); ++high) {
            for (std::size_t low = 0; low < high; ++low) {
                const int to = route(port, static_cast<int>(high), static_cast<int>(low));
                rows_[high][low] = net::connect_to("127.0.0.1", to, std::chrono::seconds(5));
                while (!rows_[low][high]) {
                    rows_[low][high] = net::accept_from(listener);
                }
            }
        }
    }

    /// Rank `rank`'s sockets; this process has those of no other rank any more.
    std::vector<net::Socket> take(int rank) {
        auto row = std::move(rows_[static_cast<std::size_t>(rank)]);
        rows_.clear();
        return row;
    }

    void close() { rows_.clear(); }

  private:
    std::vector<std::vector<net::Socket>> rows_;
};

/// Runs `body(sockets, rank, p)` in p processes, connected by a mesh; who is in `may_die` may die.
inline Processes on_mesh(
    int p,
    const std::function<void(std::vector<net::Socket>, int rank, int p)>& body,
    const std::set<int>& may_die = {}
) {
    Mesh mesh(p);
    return on_processes(
        p, [&](int rank, int) { body(mesh.take(rank), rank, p); },
        {.die = may_die, .go_on_alone = [&] { mesh.close(); }}
    );
}

/// `n` bytes that tell from whom to whom they go, and which message of the two they are.
inline std::vector<std::byte> message(std::size_t n, int src, int dst, int number = 0) {
    std::vector<std::byte> bytes(n);
    std::uint32_t state =
        static_cast<std::uint32_t>(src * 1'000'003 + dst * 7919 + number * 104'729) + 1;
    for (std::byte& one : bytes) {
        state = state * 1'664'525 + 1'013'904'223;
        one = static_cast<std::byte>(state >> 24);
    }
    return bytes;
}

/// How many entries a folder of /proc/self has: "fd", "task".
inline long entries(const std::string& folder) {
    long n = 0;
    DIR* const open = opendir(("/proc/self/" + folder).c_str());
    while (readdir(open) != nullptr) {
        ++n;
    }
    closedir(open);
    return n;
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

}  // namespace dist::harness
