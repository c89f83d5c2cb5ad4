// What is known of replicas at one moment, and the quorum that must come of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exercises/10_elastic/quorum_step.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;

inline constexpr Ms kNow = 1h;
inline constexpr QuorumSettings kTwo = {
    .min_replicas = 2, .join_timeout = 1000ms, .dead_after = 300ms};
inline constexpr QuorumSettings kOne = {
    .min_replicas = 1, .join_timeout = 1000ms, .dead_after = 300ms};

/// Lives, and asks since so long ago.
inline Replica asks(const std::string& name, std::int64_t step = 0, Ms ago = 0ms) {
    return {.name = name, .heard = kNow, .asked = kNow - ago, .step = step};
}

/// Lives, and does not ask.
inline Replica trains(const std::string& name, std::int64_t step = 0) {
    return {.name = name, .heard = kNow, .step = step};
}

/// Was heard so long ago.
inline Replica silent(Replica replica, Ms ago = 300ms) {
    replica.heard = kNow - ago;
    return replica;
}

inline Replica failed(Replica replica) {
    replica.failed = true;
    return replica;
}

/// A quorum whose members have names of one letter.
inline Quorum quorum_of(
    std::int64_t number, const std::string& members, std::int64_t step, std::vector<int> sources
) {
    Quorum made{.number = number, .step = step, .sources = std::move(sources)};
    for (const char name : members) {
        made.members.emplace_back(1, name);
    }
    return made;
}

inline std::string text_of(const Quorum& quorum) {
    std::string text = "quorum " + std::to_string(quorum.number) + " of";
    for (const std::string& member : quorum.members) {
        text += " " + member;
    }
    text += " at step " + std::to_string(quorum.step) + ", sources";
    for (const int source : quorum.sources) {
        text += " " + std::to_string(source);
    }
    return text;
}

inline std::string text_of(const std::optional<Quorum>& quorum) {
    return quorum ? text_of(*quorum) : "no quorum";
}

/// What is known, and what must come of it.
struct Rule {
    std::string what;
    std::vector<Replica> replicas;
    std::optional<Quorum> expected;
    Quorum previous = {};
    QuorumSettings settings = kOne;
};

/// Asks for each, with the replicas in several orders.
inline void rules(const std::vector<Rule>& all) {
    on_ranks({1}, [&](const Communicator&) {
        for (Rule rule : all) {
            for (std::size_t turn = 0; turn < rule.replicas.size(); ++turn) {
                std::rotate(rule.replicas.begin(), rule.replicas.begin() + 1, rule.replicas.end());
                const auto got = quorum(rule.replicas, rule.previous, rule.settings, kNow);
                const Comparison result{
                    got == rule.expected,
                    "expected " + text_of(rule.expected) + ", got " + text_of(got)};
                INFO(rule.what);
                REQUIRE(result);
            }
        }
    });
}

}  // namespace dist::harness
