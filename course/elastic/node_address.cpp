#include "course/elastic/node_address.hpp"

#include <functional>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string>
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

std::string text_of(const sockaddr* address, socklen_t size) {
    char text[NI_MAXHOST] = {};
    return getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text
                                                                                          : "";
}

bool is_loopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

std::string address_towards(const std::string& host, int port) {
    std::string address;
    any_address(host, port, [&](int descriptor, const addrinfo& at) {
        sockaddr_storage mine = {};
        socklen_t size = sizeof mine;
        auto* const name = reinterpret_cast<sockaddr*>(&mine);
        if (connect(descriptor, at.ai_addr, at.ai_addrlen) !=
                0 ||  // of datagrams: only the way is chosen
            getsockname(descriptor, name, &size) != 0) {
            return false;
        }
        address = text_of(name, size);
        return !address.empty();
    });
    return address;
}

/// Of this machine's networks that are up, the first address of such a family that is neither loopback nor of one wire alone.
std::string address_of_a_network(int family) {
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0) {
        return "";
    }
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
    for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family ||
            (one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0) {
            continue;
        }
        std::string address =
            text_of(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        if (!address.empty() && address.find('%') == std::string::npos) {
            return address;
        }
    }
    return "";
}

}  // namespace

bool is_this_machine(const std::string& host) {
    return any_address(host, 0, [](int descriptor, const addrinfo& at) {
        return bind(descriptor, at.ai_addr, at.ai_addrlen) ==
               0;  // only a machine's own can be bound
    });
}

std::string address_for_others(const std::string& host, int port) {
    std::string towards = address_towards(host, port);
    if (towards.empty()) {
        throw Error(host + ": there is no way to it");
    }
    if (!is_loopback(towards)) {
        return towards;
    }
    // the way out of here first; these addresses belong to nobody, and nothing is sent
    for (const std::string& address :
         {address_towards("192.0.2.1", port), address_of_a_network(AF_INET),
          address_towards("2001:db8::1", port), address_of_a_network(AF_INET6)}) {
        if (!address.empty() && !is_loopback(address)) {
            return address;
        }
    }
    return towards;
}

}  // namespace dist::elastic
