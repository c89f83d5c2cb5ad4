// Requests that a server takes, and requests for which it ends the connection.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"
#include "tests/04_groups_and_rendezvous/bytes.hpp"

namespace dist::harness {

struct Sent {
    std::string what;
    std::string bytes;
};

inline std::vector<Sent> too_much() {
    const std::size_t key = TcpStoreServer::kMaxKey;
    const std::size_t value = TcpStoreServer::kMaxValue;
    const std::size_t keys = TcpStoreServer::kMaxKeys;
    std::vector<Sent> all;
    for (const std::uint64_t more :
         {std::uint64_t{1}, std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 63,
          std::numeric_limits<std::uint64_t>::max()}) {
        const auto at_least = [more](std::size_t most) {
            return number(more == 1 ? most + 1 : more);
        };
        const std::string so_many =
            std::to_string(more == 1 ? 0 : more) + (more == 1 ? " + 1 more" : "");
        // only the length is sent, and a few bytes
        all.push_back({"get of a key that is too long: " + so_many, "\3" + at_least(key) + "/k"});
        all.push_back({"set of a key that is too long: " + so_many, "\1" + at_least(key) + "/k"});
        all.push_back(
            {"set of a value that is too long: " + so_many,
             "\1" + text("/k") + at_least(value) + "v"}
        );
        all.push_back({"check of too many keys: " + so_many, "\5" + at_least(keys) + text("/k")});
        all.push_back({"wait for too many keys: " + so_many, "\6" + at_least(keys) + text("/k")});
        all.push_back({"multi_set of too many: " + so_many, "\x0b" + at_least(keys) + text("/k")});
        all.push_back(
            {"queue_push of a value that is too long: " + so_many,
             "\x0e" + text("/k") + at_least(value)}
        );
    }
    return all;
}

inline std::vector<Sent> another_language() {
    return {
        {"op 13 (hexadecimal)", "\x13"},
        {"op ff", "\xff"},
        {"validate with another number", bytes("00 ce f7 85 3d")},
    };
}

/// As the first that a client sends.
inline std::vector<Sent> another_greeting() {
    return {
        {"HTTP", "GET / HTTP/1.1\r\nHost: here\r\n\r\n"},
        {"TLS", bytes("16 03 01 02 00 01 00 01 fc 03 03")},
        {"another number than validate's", bytes("00 ce f7 85 3d 0d 20 4b 00 00")},
        {"op 7 of PyTorch 1.13, which watches a key", bytes("07 <2>'/k'")},
        {"op 9 of PyTorch 1.13, which has none", bytes("09 <2>'/k'")},
    };
}

}  // namespace dist::harness
