// What tests of a server say to it.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/raw_client.hpp"
#include "tests/04_groups_and_rendezvous/recorded_traffic.hpp"

namespace dist::harness {

using Calls = std::vector<Recorded>;

/// The client sends what PyTorch's sent, and has to get what PyTorch's got. Stops at the first reply that is another one.
inline void replays(RawClient& client, const Calls& calls) {
    for (const Recorded& one : calls) {
        INFO(one.call);
        const Comparison result = client.answers(one.request, one.reply);
        CHECK(result);
        if (!result) {
            return;
        }
    }
}

/// A reply that was none would stand before the ping's.
inline Comparison in_step(RawClient& client) {
    Comparison result = client.answers("0d 11 22 33 44", "11 22 33 44");
    result.text = "a ping after it: " + result.text;
    return result;
}

/// The server answers another client, now.
inline Comparison serves_others(int port) {
    try {
        RawClient other = greeted(port);
        Comparison result = other.answers("05 <0>", "00");
        result.text = "another client: " + result.text;
        return result;
    } catch (const std::runtime_error& error) {
        return {false, std::string("another client: ") + error.what()};
    }
}

}  // namespace dist::harness
