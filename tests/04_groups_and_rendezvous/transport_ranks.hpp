// Processes that have a transport each, and what the tests of a transport say to them.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"
#include "tests/04_groups_and_rendezvous/tcp_mesh.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kLong = 20'000'000;  // more than the kernel keeps between two ranks

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
            body(transport, rank, p);
        },
        may_die
    );
}

inline void on_transports(
    const std::vector<int>& sizes, const std::function<void(Transport&, int, int)>& body
) {
    on_ranks({1}, [&](const Communicator&) {
        for (const int p : sizes) {
            INFO("ranks: " << p);
            const Processes run = on_transport(p, body);
            CHECK(static_cast<int>(run.died.size()) == p);
            if (!run.passed) {
                return;
            }
        }
    });
}

/// What comes from `src`, received into a place of `n` bytes.
inline Bytes received(
    Transport& transport, std::size_t n, int src, std::uint32_t group = 0, int tag = 0
) {
    Bytes place(n, std::byte{0xEE});
    const Arrival arrival = transport.recv(place, src, group, tag);
    CHECK(arrival.src == src);
    CHECK(arrival.tag == tag);
    CHECK(arrival.bytes <= n);
    place.resize(std::min(arrival.bytes, n));
    return place;
}

/// Looks with test(), but not for ever.
inline constexpr int kMostLooks = 1000;
inline bool is_done(Transport& transport, const Request& request) {
    for (int look = 0; look < kMostLooks; ++look) {
        if (transport.test(request)) {
            return true;
        }
        nap(1);
    }
    return false;
}

/// The text of the Error that `call` throws; empty if it throws none.
inline std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

/// Whether `call` throws an Error that names this rank.
inline Comparison names_rank(int rank, const std::function<void()>& call) {
    const std::string text = error_of(call);
    const std::string name = "rank " + std::to_string(rank);
    return {
        text.find(name) != std::string::npos,
        text.empty() ? "it returned as if " + name + " lived"
                     : "the Error has to name " + name + ", and is: " + text};
}

inline void read_all(int descriptor, std::span<std::byte> place) {
    while (!place.empty()) {
        const ssize_t n = ::recv(descriptor, place.data(), place.size(), 0);
        REQUIRE(n > 0);
        place = place.subspan(static_cast<std::size_t>(n));
    }
}

/// A message as it stands on the wire.
inline Bytes framed(const Frame& frame, const Bytes& data) {
    Bytes all(sizeof frame);
    std::memcpy(all.data(), &frame, sizeof frame);
    all.insert(all.end(), data.begin(), data.end());
    return all;
}

}  // namespace dist::harness
