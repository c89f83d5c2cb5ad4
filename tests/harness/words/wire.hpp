// A peer written by hand: the bytes that go through a socket, and its end.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <poll.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>
#include <type_traits>
#include <utility>

#include "course/net/socket.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/this_process.hpp"

namespace dist::harness {

/// For a report: "06 01 00 ... (18 bytes)".
inline std::string in_hex(std::string_view bytes) {
    constexpr std::size_t kMost = 40;
    std::ostringstream out;
    for (const char byte : bytes.substr(0, kMost)) {
        out << std::hex << std::setw(2) << std::setfill('0')
            << static_cast<int>(static_cast<unsigned char>(byte)) << ' ';
    }
    out << std::dec << (bytes.size() > kMost ? "... " : "");
    out << (bytes.empty() ? "nothing" : "(" + std::to_string(bytes.size()) + " bytes)");
    return out.str();
}

inline Comparison same_on_wire(const std::string& got, const std::string& expected) {
    return {got == expected, "expected " + in_hex(expected) + ", got " + in_hex(got)};
}

/// The bytes of a value, as they stand in memory.
template <class Value>
std::string in_memory(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

class Wire {
  public:
    /// How long it waits for what has to come. Only wrong answers wait so long.
    static constexpr std::chrono::milliseconds kPatience{3000};

    explicit Wire(net::Socket socket) : socket_(std::move(socket)) {}
    /// Connects to a port of this machine.
    explicit Wire(int port) : Wire(net::connect_to("127.0.0.1", port, kPatience)) {}

    /// If the other end is gone, nothing happens.
    void says(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t n = send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n < 0 && errno != EINTR) {
                return;
            }
            bytes.remove_prefix(n < 0 ? 0 : static_cast<std::size_t>(n));
        }
    }

    /// Each byte some time after the one before.
    void says_single(
        std::string_view bytes, std::chrono::microseconds pause = std::chrono::microseconds(50)
    ) const {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            says(bytes.substr(i, 1));
            std::this_thread::sleep_for(pause);
        }
    }

    /// The next n bytes; fewer if no more come for some time.
    std::string hears(std::size_t n) const {
        std::string got(n, '\0');
        std::size_t have = 0;
        while (have < n && comes()) {
            const ssize_t now = recv(descriptor(), got.data() + have, n - have, 0);
            if (now <= 0) {
                break;
            }
            have += static_cast<std::size_t>(now);
        }
        got.resize(have);
        return got;
    }

    /// Whether something comes, or the end.
    bool comes(std::chrono::milliseconds patience = kPatience) const {
        pollfd event = {descriptor(), POLLIN, 0};
        return poll(&event, 1, static_cast<int>(patience.count())) > 0;
    }

    /// Waits until so much can be read, but not for ever.
    void await(std::size_t bytes) const {
        becomes_true([&] {
            int there = 0;
            ::ioctl(descriptor(), FIONREAD, &there);
            return static_cast<std::size_t>(there) >= bytes;
        });
    }

    /// Whether the other end has closed the connection, behind what it has sent before.
    [[nodiscard]] bool has_ended() const {
        char bytes[4096];
        while (comes()) {
            if (recv(descriptor(), bytes, sizeof bytes, 0) <= 0) {
                return true;
            }
        }
        return false;
    }

    void closes() { socket_.close(); }

    /// As if its process had crashed: the other end is told of an error.
    void resets() {
        const linger at_once = {.l_onoff = 1, .l_linger = 0};
        setsockopt(descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        closes();
    }

    [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
    explicit operator bool() const { return bool(socket_); }

  private:
    net::Socket socket_;
};

}  // namespace dist::harness
