// Ranks that connect, and whoever else talks with them.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/04_groups_and_rendezvous/tcp_mesh.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using Sockets = std::vector<net::Socket>;
inline constexpr auto kPatience = std::chrono::seconds(9);
inline constexpr auto kShort = std::chrono::milliseconds(300);

// What full_mesh returned to one rank, or why not.
struct Came {
    Sockets sockets;
    std::string error;
};

inline Comparison without_error(const Came& came) {
    return {came.error.empty(), "full_mesh threw: " + came.error};
}

// One rank, in a thread of its own: processes would share a store as well, and threads may share a simpler one.
class Rank {
  public:
    Rank(
        Store& store,
        int rank,
        int size,
        Store::Duration timeout = kPatience,
        const std::string& address = "127.0.0.1"
    )
        : store_(store), key_("mesh/" + std::to_string(rank)), thread_([=, this, &store] {
              try {
                  came_.sockets = full_mesh(store, rank, size, address, timeout);
              } catch (const NotImplemented& stub) {
                  stub_ = stub;
              } catch (const std::exception& error) {
                  came_.error = error.what();
              }
              is_over_ = true;
          }) {}
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;
    ~Rank() {
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    // Where this rank says that it listens.
    std::string said() {
        while (!store_.check({key_}) && !is_over_) {
            nap(1);
        }
        if (stub_) {
            throw NotImplemented(*stub_);
        }
        return store_.check({key_}) ? store_.get(key_) : "";
    }

    [[nodiscard]] bool is_over() const { return is_over_; }

    /// As if the signal had come to the process, and to this thread of it.
    void interrupt(int signal) { pthread_kill(thread_.native_handle(), signal); }

    Came end() {
        thread_.join();
        if (stub_) {
            throw NotImplemented(*stub_);
        }
        return std::move(came_);
    }

  private:
    Store& store_;
    std::string key_;
    Came came_;
    std::atomic<bool> is_over_ = false;
    std::optional<NotImplemented> stub_;
    std::thread thread_;
};

inline void alone(const std::function<void()>& body) {
    on_ranks({1}, [&](const Communicator&) { body(); });
}

inline void say(const net::Socket& socket, std::uint32_t number) {
    ::send(socket.descriptor(), &number, sizeof number, MSG_NOSIGNAL);
}

/// Connects as this rank does; nothing if nobody listens there any more.
inline net::Socket comes_as(std::uint32_t rank, int port) {
    try {
        net::Socket socket = net::connect_to("127.0.0.1", port, kPatience);
        say(socket, rank);
        return socket;
    } catch (const Error&) {
        return {};
    }
}

// The number that comes next; "nothing" if none does within 3 s, or the connection ends.
inline std::string heard(const net::Socket& socket) {
    pollfd one{socket.descriptor(), POLLIN, 0};
    std::uint32_t number = 0;
    if (poll(&one, 1, 3000) <= 0 ||
        ::recv(socket.descriptor(), &number, sizeof number, MSG_WAITALL) != sizeof number) {
        return "nothing";
    }
    return std::to_string(number);
}

inline bool has_ended(const net::Socket& socket) {
    pollfd one{socket.descriptor(), POLLIN, 0};
    char byte = 0;
    return poll(&one, 1, 3000) > 0 && ::recv(socket.descriptor(), &byte, 1, 0) <= 0;
}

/// Whether its calls wait, as connect_to and accept_from leave it.
inline bool waits(const net::Socket& socket) {
    return (fcntl(socket.descriptor(), F_GETFL) & O_NONBLOCK) == 0;
}

/// Whether others can connect to it by that address.
inline bool is_of_this_machine(const std::string& address) {
    const net::Socket listener = net::listen_on(0);
    try {
        return bool(net::connect_to(address, net::local_port(listener), kPatience));
    } catch (const Error&) {
        return false;
    }
}

inline int port_in(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    const bool has_port = colon != std::string::npos;
    INFO(
        "a rank says where it listens, as ADDRESS:PORT under mesh/RANK; it said \"" << address
                                                                                    << '"'
    );
    REQUIRE(has_port);
    return std::stoi(address.substr(colon + 1));
}

/// Does the text of what was thrown name the rank?
inline Comparison names(const std::string& text, int rank) {
    const std::string name = "rank " + std::to_string(rank);
    return {
        text.find(name) != std::string::npos,
        "it should name " + name + ": " + (text.empty() ? "nothing was thrown" : text)};
}

}  // namespace dist::harness
