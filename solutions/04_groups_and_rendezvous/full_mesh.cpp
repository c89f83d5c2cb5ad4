#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <utility>

#include "course/runtime/deadline.hpp"

namespace dist {
namespace {

using Clock = std::chrono::steady_clock;

Store::Duration left(Clock::time_point deadline) {
    return std::max(
        std::chrono::ceil<Store::Duration>(deadline - Clock::now()), Store::Duration(0)
    );
}

std::string key_of(int rank) {
    return "mesh/" + std::to_string(rank);
}

// This rank, whom the lower rank waits for.
net::Socket connect_to_rank(int lower, int rank, Store& store, Clock::time_point deadline) {
    try {
        store.wait({key_of(lower)}, left(deadline));
        const std::string at = store.get(key_of(lower));
        const std::size_t colon = at.find_last_of(":");
        const int port = std::stoi(at.substr(colon + 1));
        net::Socket socket = net::connect_to(at.substr(0, colon), port, left(deadline));
        const auto mine = static_cast<std::uint32_t>(rank);
        send(socket.descriptor(), &mine, sizeof mine, MSG_NOSIGNAL);  // so few bytes always fit
        return socket;
    } catch (const Error& error) {
        throw Error("rank " + std::to_string(lower) + " did not come: " + error.what());
    }
}

// What one who has connected says first, in as many pieces as the network makes of it. Nothing: it has left, or takes too long.
std::optional<std::uint32_t> rank_of(const net::Socket& socket, Clock::time_point deadline) {
    const auto patience = std::min(deadline, Clock::now() + std::chrono::seconds(1));
    std::uint32_t said = 0;
    auto missing = std::as_writable_bytes(std::span(&said, 1));
    while (!missing.empty() && net::ready_before(socket, POLLIN, patience)) {
        const ssize_t n = recv(socket.descriptor(), missing.data(), missing.size(), MSG_DONTWAIT);
        if (n <= 0) {
            return std::nullopt;
        }
        missing = missing.subspan(static_cast<std::size_t>(n));
    }
    return missing.empty() ? std::optional(said) : std::nullopt;
}

// Puts the next one that connects in its place. Who says no rank that is waited for is none of ours.
void accept_one(
    const net::Socket& listener,
    int rank,
    std::vector<net::Socket>& sockets,
    Clock::time_point deadline
) {
    net::Socket socket = net::accept_from(listener);
    const auto said = socket ? rank_of(socket, deadline) : std::nullopt;
    if (said && std::cmp_greater(*said, rank) && *said < sockets.size() && !sockets[*said]) {
        sockets[*said] = std::move(socket);
    }
}

}  // namespace

std::vector<net::Socket> full_mesh(
    Store& store, int rank, int size, const std::string& address, Store::Duration timeout
) {
    expects(0 <= rank && rank < size, "full_mesh: rank must be one of 0 to size - 1");
    const auto deadline = deadline_after(timeout);
    std::vector<net::Socket> sockets(static_cast<std::size_t>(size));
    const net::Socket listener = net::listen_on(0);
    store.set(key_of(rank), address + ":" + std::to_string(net::local_port(listener)));
    for (int lower = 0; lower < rank; ++lower) {
        sockets[static_cast<std::size_t>(lower)] = connect_to_rank(lower, rank, store, deadline);
    }
    for (;;) {
        const auto missing = std::find_if(
            sockets.begin() + rank + 1, sockets.end(), [](const auto& socket) { return !socket; }
        );
        if (missing == sockets.end()) {
            return sockets;
        }
        if (!net::ready_before(listener, POLLIN, deadline)) {
            throw Error(
                "rank " + std::to_string(missing - sockets.begin()) +
                " did not come: it has not connected in time"
            );
        }
        accept_one(listener, rank, sockets, deadline);
    }
}

}  // namespace dist
