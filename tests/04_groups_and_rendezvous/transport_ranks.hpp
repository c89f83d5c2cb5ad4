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
#include "tests/harness/processes/watched_transport.hpp"

namespace dist::harness {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kLong = 20'000'000;  // more than the kernel keeps between two ranks

inline constexpr std::byte kUntouched{0xEE};

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
    Bytes place(n, kUntouched);
    const Arrival arrival = transport.recv(place, src, group, tag);
    CHECK(arrival.src == src);
    CHECK(arrival.tag == tag);
    CHECK(arrival.bytes <= n);
    place.resize(std::min(arrival.bytes, n));
    return place;
}

/// Whether `got` is message(n, src, dst, number); if not, which one it may be.
inline Comparison is_message(const Bytes& got, std::size_t n, int src, int dst, int number = 0) {
    const Bytes expected = message(n, src, dst, number);
    if (got == expected) {
        return {};
    }
    std::string text = "message " + std::to_string(number) + " of rank " + std::to_string(src) +
                       " has " + std::to_string(n) + " bytes, and " + std::to_string(got.size()) +
                       " came";
    for (int other = 0; got.size() >= 4 && other < 20; ++other) {
        const Bytes begin = message(std::min<std::size_t>(got.size(), 16), src, dst, other);
        if (other != number && std::equal(begin.begin(), begin.end(), got.begin())) {
            return {
                false,
                text + ": as if message " + std::to_string(other) + " had come in its place"};
        }
    }
    if (got.size() == n) {
        const auto at = std::ranges::mismatch(got, expected).in1 - got.begin();
        const bool untouched = got[static_cast<std::size_t>(at)] == kUntouched;
        text += "; byte " + std::to_string(at) + " is another one" +
                (untouched ? ", as if nothing had been written there" : "");
    }
    return {false, text};
}

/// As received() and is_message(), for a thread of its own: there is no CHECK in it.
inline Comparison arrives(
    Transport& transport,
    std::size_t n,
    int src,
    int dst,
    std::uint32_t group = 0,
    int tag = 0,
    int number = 0
) {
    Bytes place(n, kUntouched);
    const Arrival arrival = transport.recv(place, src, group, tag);
    if (arrival.src != src || arrival.tag != tag || arrival.bytes > n) {
        return {
            false, "recv() says that " + std::to_string(arrival.bytes) + " bytes came from rank " +
                       std::to_string(arrival.src) + " with tag " + std::to_string(arrival.tag)};
    }
    place.resize(arrival.bytes);
    return is_message(place, n, src, dst, number);
}

/// Looks with test() until it is done, but not for ever.
inline Comparison is_done(Transport& transport, const Request& request) {
    constexpr int kMostLooks = 1000;
    for (int look = 0; look < kMostLooks; ++look) {
        if (transport.test(request)) {
            return {};
        }
        nap(1);
    }
    return {false, "1000 looks with test(), a millisecond apart, moved nothing"};
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

/// Whether `call` throws an Error whose text has all these words.
inline Comparison error_has(
    const std::vector<std::string>& words, const std::function<void()>& call
) {
    const std::string text = error_of(call);
    for (const std::string& word : words) {
        if (text.find(word) == std::string::npos) {
            const std::string found = ", and is: " + text;
            return {
                false, text.empty() ? "it returned, where an Error has to name " + word
                                    : "the Error has to name " + (word + found)};
        }
    }
    return {};
}

inline Comparison names_rank(int rank, const std::function<void()>& call) {
    return error_has({"rank " + std::to_string(rank)}, call);
}

inline void read_all(int descriptor, std::span<std::byte> place) {
    ssize_t n = 1;  // in how many pieces the bytes come is the sender's matter: one check for all
    while (!place.empty() && n > 0) {
        n = ::recv(descriptor, place.data(), place.size(), 0);
        place = place.subspan(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    REQUIRE(place.empty());
}

/// A message as it stands on the wire.
inline Bytes framed(const Frame& frame, const Bytes& data) {
    Bytes all(sizeof frame);
    std::memcpy(all.data(), &frame, sizeof frame);
    all.insert(all.end(), data.begin(), data.end());
    return all;
}

}  // namespace dist::harness
