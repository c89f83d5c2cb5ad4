#include "course/net/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "course/runtime/deadline.hpp"

namespace dist::net {
namespace {

using Clock = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

constexpr int kBacklog =
    4096;  // clients that have connected and are not accepted yet; Linux may allow fewer

[[noreturn]] void fail(const std::string& what, const std::string& why) {
    throw Error(what + ": " + why);
}

void set_on(const Socket& socket, int level, int option, int value = 1) {
    setsockopt(socket.descriptor(), level, option, &value, sizeof value);
}

/// Waits until it is connected. Returns 0, or an errno.
int wait_connected(const Socket& socket, Clock::time_point deadline) {
    if (!ready_before(socket, POLLOUT, deadline)) {
        return ETIMEDOUT;
    }
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

/// A port that nobody listens at may be drawn for the connection's own end: then it is connected with itself.
bool is_own_peer(const Socket& socket) {
    sockaddr_storage own{};
    sockaddr_storage peer{};
    socklen_t own_size = sizeof own;
    socklen_t peer_size = sizeof peer;
    getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&own), &own_size);
    getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&peer), &peer_size);
    return own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
}

Socket make_listener(int family, const sockaddr* address, socklen_t size) {
    Socket listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener) {
        return {};
    }
    set_on(
        listener, SOL_SOCKET, SO_REUSEADDR
    );  // a port whose last connections are still being closed
    if (family == AF_INET6) {
        set_on(listener, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    const bool listens = bind(listener.descriptor(), address, size) == 0 &&
                         listen(listener.descriptor(), kBacklog) == 0;
    return listens ? std::move(listener) : Socket();
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        close();
        descriptor_ = std::exchange(other.descriptor_, kNone);
    }
    return *this;
}

void Socket::set_waiting(bool waits) {
    const int flags = fcntl(descriptor_, F_GETFL);
    fcntl(descriptor_, F_SETFL, waits ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

void Socket::close() {
    if (descriptor_ != kNone) {
        ::close(std::exchange(descriptor_, kNone));
    }
}

Socket listen_on(int port, From from) {
    const std::string what = "cannot listen on port " + std::to_string(port);
    if (port < 0 || port > 65535) {
        fail(what, "ports are 0 to 65535");
    }
    sockaddr_in6 all{};
    all.sin6_family = AF_INET6;
    all.sin6_addr = in6addr_any;
    all.sin6_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = all.sin6_port;
    Socket listener;
    if (from == From::this_machine) {
        four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
        listener = make_listener(AF_INET6, reinterpret_cast<sockaddr*>(&all), sizeof all);
    }
    if (from == From::this_machine ||
        (!listener && errno == EAFNOSUPPORT)) {  // or there is no IPv6
        listener = make_listener(AF_INET, reinterpret_cast<sockaddr*>(&four), sizeof four);
    }
    if (!listener) {
        fail(what, std::strerror(errno));
    }
    return listener;
}

int local_port(const Socket& socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        fail("local_port", std::strerror(errno));
    }
    return ntohs(
        address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                      : reinterpret_cast<sockaddr_in*>(&address)->sin_port
    );
}

Socket accept_from(const Socket& listener) {
    Socket client(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) {
        set_on(client, IPPROTO_TCP, TCP_NODELAY);
    }
    return client;
}

Socket connect_to(const std::string& host, int port, std::chrono::milliseconds timeout) {
    const auto deadline = deadline_after(timeout);
    const std::string what = "cannot connect to " + host + ":" + std::to_string(port);
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list)) {
        fail(what, gai_strerror(code));
    }
    const Addresses addresses(list, &freeaddrinfo);
    int error = 0;
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
        Socket server(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        error =
            server && connect(server.descriptor(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
        if (error == EINPROGRESS) {
            error = wait_connected(server, deadline);
        }
        if (error == 0 && is_own_peer(server)) {
            error = ECONNREFUSED;
        }
        if (error == 0) {
            set_on(server, IPPROTO_TCP, TCP_NODELAY);
            server.set_waiting(true);
            return server;
        }
    }
    fail(what, std::strerror(error));
}

bool ready_before(const Socket& socket, short event, Clock::time_point deadline) {
    for (;;) {
        pollfd one = {socket.descriptor(), event, 0};
        const int ready = poll(&one, 1, poll_ms(deadline));
        if (ready < 0 && errno != EINTR) {
            fail("poll", std::strerror(errno));
        }
        if (ready > 0 || Clock::now() >= deadline) {
            return ready > 0;
        }
    }
}

std::pair<Socket, Socket> connected_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        fail("connected_pair", std::strerror(errno));
    }
    return {Socket(ends[0]), Socket(ends[1])};
}

}  // namespace dist::net
