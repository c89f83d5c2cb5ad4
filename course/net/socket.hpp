// TCP: sockets that are made, connected and closed here. What goes through them is up to who has them.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "course/runtime/error.hpp"

namespace dist::net {

/// The descriptor of a socket, closed at the end. What is written leaves at once (TCP_NODELAY). Calls wait
/// (send, recv) until set_waiting(false), or for one call with MSG_DONTWAIT.
class Socket {
  public:
    static constexpr int kNone = -1;

    Socket() = default;
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    ~Socket() { close(); }
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, kNone)) {}
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    /// For send, recv, poll; kNone where there is none.
    [[nodiscard]] int descriptor() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ != kNone; }

    /// Whether send and recv wait, or return -1 with errno EAGAIN.
    void set_waiting(bool waits);

    void close();

  private:
    int descriptor_ = kNone;
};

/// Who may connect: all that reach this machine, by IPv4 or IPv6; or its own processes, by 127.0.0.1.
enum class From { anywhere, this_machine };

/// Listens; accept_from() does not wait for clients of such a socket.
///
/// port    0: one that is free.
/// Errors  Error, which names the port and the reason.
Socket listen_on(int port, From from = From::anywhere);

/// The port of this machine that the socket has. Errors  Error.
int local_port(const Socket& socket);

/// The next client that has connected; none if there is none now, or no descriptor for it. Does not wait: poll() says when.
Socket accept_from(const Socket& listener);

/// Connects, to the first address of `host` that takes it.
///
/// host     a name or an address: "localhost", "127.0.0.1", "::1".
/// timeout  for how long it waits for an answer; nobody who listens there is an answer.
/// Errors   Error, which names host, port and the reason.
Socket connect_to(const std::string& host, int port, std::chrono::milliseconds timeout);

/// Sleeps until the socket can be read (POLLIN) or written (POLLOUT), also through signals. Returns false if it cannot
/// before the deadline (course/runtime/deadline.hpp).
bool ready_before(
    const Socket& socket, short event, std::chrono::steady_clock::time_point deadline
);

/// Two sockets that are connected with each other: to wake up a thread that sleeps in poll(), for one.
std::pair<Socket, Socket> connected_pair();

}  // namespace dist::net
