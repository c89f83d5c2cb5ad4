// A client that is nothing but a connection: sends bytes, and reads bytes.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/net/socket.hpp"
#include "tests/04_groups_and_rendezvous/bytes.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// How long a test waits for what has to come. Only wrong answers wait so long.
inline constexpr std::chrono::milliseconds kPatience(3000);

/// Addresses of this machine, beside 127.0.0.1: of IPv6 as well, where it has that.
inline std::vector<std::string> other_addresses() {
    std::ifstream six("/proc/net/if_inet6");
    return six.peek() == EOF ? std::vector<std::string>{"127.0.0.2"}
                             : std::vector<std::string>{"127.0.0.2", "::1"};
}

class RawClient {
  public:
    explicit RawClient(net::Socket socket) : socket_(std::move(socket)) {}
    explicit RawClient(int port) : RawClient(net::connect_to("127.0.0.1", port, kPatience)) {}

    /// In one piece; if the other end is gone, nothing happens.
    void sends(const std::string& bytes) {
        for (std::size_t at = 0; at < bytes.size();) {
            const ssize_t n =
                send(socket_.descriptor(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
            if (n < 0 && errno != EINTR) {
                return;
            }
            at += n < 0 ? 0 : static_cast<std::size_t>(n);
        }
    }

    /// Each byte some time after the one before.
    void sends_single(const std::string& bytes) {
        for (const char byte : bytes) {
            sends(std::string(1, byte));
            usleep(50);
        }
    }

    /// The next n bytes; fewer if no more come for some time.
    std::string reads(std::size_t n) {
        std::string got(n, '\0');
        std::size_t have = 0;
        while (have < n && comes()) {
            const ssize_t now = recv(socket_.descriptor(), got.data() + have, n - have, 0);
            if (now <= 0) {
                break;
            }
            have += static_cast<std::size_t>(now);
        }
        got.resize(have);
        return got;
    }

    /// Whether the other end has ended the connection, behind what it has sent before.
    bool is_disconnected() {
        char bytes[4096];
        while (comes()) {
            const ssize_t n = recv(socket_.descriptor(), bytes, sizeof bytes, 0);
            if (n <= 0) {
                return true;
            }
        }
        return false;
    }

    /// Sends the request and reads the reply, both as bytes.hpp writes them.
    Comparison answers(const std::string& request, const std::string& reply) {
        sends(bytes(request));
        const std::string expected = bytes(reply);
        Comparison result = same_on_wire(reads(expected.size()), expected);
        result.text = "the reply to " + request + ": " + result.text;
        return result;
    }

    net::Socket& socket() { return socket_; }

    /// Whether something comes, or the end; not for ever.
    bool comes() {
        pollfd event = {socket_.descriptor(), POLLIN, 0};
        return poll(&event, 1, static_cast<int>(kPatience.count())) > 0;
    }

  private:
    net::Socket socket_;
};

/// One that has said that it is of PyTorch 2.x.
inline RawClient greeted(int port) {
    RawClient client(port);
    const Comparison greeting = client.answers("00 ce f7 85 3c 0d 20 4b 00 00", "20 4b 00 00");
    return greeting ? std::move(client)
                    : throw std::runtime_error("a client of PyTorch 2.x: " + greeting.text);
}

}  // namespace dist::harness
