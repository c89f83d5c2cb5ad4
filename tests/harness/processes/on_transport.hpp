// Processes that are connected in pairs over loopback before they start, each with a TcpTransport.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "course/net/socket.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/processes.hpp"
#include "tests/harness/processes/watched_transport.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/this_process.hpp"

namespace dist::harness {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kLong = 20'000'000;  // more than the kernel keeps between two ranks

/// Where the higher rank of a pair connects to reach the lower one, which listens at `port`.
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
        for (int high = 0; high < p; ++high) {
            for (int low = 0; low < high; ++low) {
                const int to = route(port, high, low);
                rows_[high][low] = net::connect_to("127.0.0.1", to, std::chrono::seconds(5));
                while (!rows_[low][high]) {
                    rows_[low][high] = net::accept_from(listener);
                }
            }
        }
    }

    /// Rank `rank`'s sockets; this process has those of no other rank any more.
    std::vector<net::Socket> take(int rank) {
        auto row = std::move(rows_[rank]);
        rows_.clear();
        return row;
    }

    void close() { rows_.clear(); }

  private:
    std::vector<std::vector<net::Socket>> rows_;
};

/// Runs `body(sockets, rank, p)` in p processes, connected by a mesh; those in `may_die` may die.
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

/// Runs `body` in p processes that have a transport each.
inline Processes on_transport(
    int p,
    const std::function<void(Transport& transport, int rank, int p)>& body,
    const std::set<int>& may_die = {}
) {
    return on_mesh(
        p,
        [&](std::vector<net::Socket> sockets, int rank, int) {
            TcpTransport transport(std::move(sockets), rank);
            WatchedTransport watched(transport);
            body(watched, rank, p);
        },
        may_die
    );
}

/// `n` bytes that tell from whom to whom they go, and which message of the two they are.
inline Bytes message(std::size_t n, int src, int dst, int number = 0) {
    Bytes bytes(n);
    auto state = static_cast<std::uint32_t>(src * 1'000'003 + dst * 7919 + number * 104'729) + 1;
    for (std::byte& one : bytes) {
        state = state * 1'664'525 + 1'013'904'223;
        one = static_cast<std::byte>(state >> 24);
    }
    return bytes;
}

/// Whether `call` throws an Error whose text has all these words.
inline Comparison error_has(
    const std::vector<std::string>& words, const std::function<void()>& call
) {
    return throws_error(call, words);
}

inline Comparison names_rank(int rank, const std::function<void()>& call) {
    return throws_error(call, {"rank " + std::to_string(rank)});
}

}  // namespace dist::harness
