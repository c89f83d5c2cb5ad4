// Ports at which nobody answers, yet or ever.
#pragma once

#include <chrono>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "course/net/socket.hpp"
#include "course/runtime/clock.hpp"

namespace dist::harness {

/// A port at which nobody listens, and which nobody else can take.
class ReservedPort {
  public:
    ReservedPort() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (bind(socket_.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
            0) {
            throw Error("the test cannot have a port");
        }
        port_ = net::local_port(socket_);
    }

    [[nodiscard]] int port() const { return port_; }

    /// From now on somebody listens.
    net::Socket listens() const {
        listen(socket_.descriptor(), 8);
        net::Socket listener(dup(socket_.descriptor()));
        listener.set_waiting(false);
        return listener;
    }

  private:
    net::Socket socket_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    int port_ = 0;
};

/// Somebody listens, and ends each connection at once. Knows when they came.
class TriesSeen {
  public:
    TriesSeen() : thread_([this] { run(); }) {}
    ~TriesSeen() {
        end_.second.close();
        thread_.join();
    }
    TriesSeen(const TriesSeen&) = delete;
    TriesSeen& operator=(const TriesSeen&) = delete;

    [[nodiscard]] int port() const { return port_; }

    /// Seconds between a try and the next.
    [[nodiscard]] std::vector<double> gaps_s() const {
        const std::scoped_lock guard(lock_);
        std::vector<double> gaps;
        for (std::size_t i = 1; i < at_s_.size(); ++i) {
            gaps.push_back(at_s_[i] - at_s_[i - 1]);
        }
        return gaps;
    }

    [[nodiscard]] std::string told() const {
        const std::vector<double> gaps = gaps_s();
        std::ostringstream out;
        out << gaps.size() + 1 << " tries: the first";
        for (std::size_t i = 0; i < gaps.size() && i < 10; ++i) {
            out << ", one " << static_cast<int>(1000 * gaps[i]) << " ms later";
        }
        return out.str();
    }

  private:
    void run() {
        for (;;) {
            pollfd events[2] = {
                {listener_.descriptor(), POLLIN, 0}, {end_.first.descriptor(), POLLIN, 0}};
            poll(events, 2, -1);
            if (events[1].revents != 0) {
                return;
            }
            if (net::accept_from(listener_)) {
                const std::scoped_lock guard(lock_);
                at_s_.push_back(now_s());
            }
        }
    }

    net::Socket listener_ = net::listen_on(0, net::From::this_machine);
    int port_ = net::local_port(listener_);
    std::pair<net::Socket, net::Socket> end_ = net::connected_pair();
    mutable std::mutex lock_;
    std::vector<double> at_s_;
    std::thread thread_;  // last: it uses all others
};

}  // namespace dist::harness
