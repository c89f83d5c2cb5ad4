// What an agent knows, notices and does, in words.
#pragma once

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "exercises/10_elastic/elastic_agent.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;
using Kind = AgentEvent::Kind;

inline std::string text_of(Ms time) {
    return std::to_string(time.count()) + " ms";
}

inline std::string text_of(WorkerState state) {
    const std::vector<std::string> names = {"init",    "healthy",   "unhealthy",
                                            "stopped", "succeeded", "failed"};
    return names.at(static_cast<std::size_t>(state));
}

inline std::string text_of(WorkerFate fate) {
    const std::vector<std::string> names = {"succeeded", "failed", "terminated"};
    return names.at(static_cast<std::size_t>(fate));
}

inline std::string text_of(const std::optional<AgentEnd>& end) {
    const std::vector<std::string> names = {
        "succeeded", "failed", "closed", "interrupted", "error"};
    return end ? names.at(static_cast<std::size_t>(*end)) : "no end";
}

inline std::string text_of_signal(int number) {
    const char* const name = sigabbrev_np(number);
    return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

inline std::string text_of(const WorkerEnd& end) {
    return "worker " + std::to_string(end.local_rank) +
           (end.signal != 0 ? " died of " + text_of_signal(end.signal)
                            : " exited with " + std::to_string(end.exit_code)) +
           " at " + text_of(end.at);
}

inline std::string text_of(const AgentEvent& event) {
    const std::vector<std::string> names = {"round",    "no_round",    "looked", "changed",
                                            "finished", "interrupted", "error"};
    std::string text = names.at(static_cast<std::size_t>(event.kind));
    if (event.kind == Kind::looked) {
        text += " at " + text_of(event.at);
    }
    for (const WorkerEnd& end : event.ended) {
        text += ", " + text_of(end);
    }
    return text;
}

inline std::string text_of(const AgentActions& actions) {
    std::string text;
    const auto add = [&](bool is_there, const std::string& word) {
        text += is_there ? (text.empty() ? "" : ", ") + word : "";
    };
    add(actions.start, "start");
    add(actions.signal != 0, text_of_signal(actions.signal));
    add(actions.close, "close");
    add(actions.leave, "leave");
    return text.empty() ? "nothing" : text;
}

/// A worker that ends so, at that time.
inline WorkerEnd exits(int local_rank, int code, Ms at) {
    return {.local_rank = local_rank, .exit_code = code, .at = at};
}
inline WorkerEnd dies(int local_rank, int signal, Ms at) {
    return {.local_rank = local_rank, .signal = signal, .at = at};
}

}  // namespace dist::harness
