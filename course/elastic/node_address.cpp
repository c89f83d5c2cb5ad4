#include "course/elastic/node_address.hpp"

#include <functional>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "course/runtime/error.hpp"

namespace dist::elastic {
namespace {

/// Tries `use` on a datagram socket for each address of the host, until it says yes.
bool any_address(
    const std::string& host, int port, const std::function<bool(int, const addrinfo&)>& use
) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
        throw Error(host + ": there is no such host");
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
    bool done = false;
    for (const addrinfo* one = found; one != nullptr && !done; one = one->ai_next) {
        const int descriptor = socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (descriptor >= 0) {
            done = use(descriptor, *one);
            close(descriptor);
        }
    }
    return done;
}

}  // namespace

bool is_this_machine(const std::string& host) {
    return any_address(host, 0, [](int descriptor, const addrinfo& at) {
        return bind(descriptor, at.ai_addr, at.ai_addrlen) ==
               0;  // only a machine's own can be bound
    });
}

std::string address_towards(const std::string& host, int port) {
    std::string address;
    any_address(host, port, [&](int descriptor, const addrinfo& at) {
        sockaddr_storage mine = {};
        socklen_t size = sizeof mine;
        auto* const name = reinterpret_cast<sockaddr*>(&mine);
        char text[NI_MAXHOST] = {};
        if (connect(descriptor, at.ai_addr, at.ai_addrlen) !=
                0 ||  // of datagrams: only the way is chosen
            getsockname(descriptor, name, &size) != 0 ||
            getnameinfo(name, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) {
            return false;
        }
        address = text;
        return true;
    });
    if (address.empty()) {
        throw Error(host + ": there is no way to it");
    }
    return address;
}

}  // namespace dist::elastic
