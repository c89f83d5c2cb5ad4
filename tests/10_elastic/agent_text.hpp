// What an agent knows, notices and does, in words.
#pragma once

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>

#include "exercises/10_elastic/elastic_agent.hpp"
#include "tests/harness/words/text.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;
using Kind = AgentEvent::Kind;

inline std::string text_of(WorkerState state) {
    const char* const names[] = {"init", "healthy", "unhealthy", "stopped", "succeeded", "failed"};
    return names[static_cast<int>(state)];
}

inline std::string text_of(const std::optional<AgentEnd>& end) {
    const char* const names[] = {"succeeded", "failed", "closed", "interrupted", "error"};
    return end ? names[static_cast<int>(*end)] : "no end";
}

inline std::string text_of_signal(int number) {
    const char* const name = sigabbrev_np(number);
    return name == nullptr ? text("signal ", number) : text("SIG", name);
}

inline std::string text_of(const WorkerEnd& end) {
    const std::string how = end.signal != 0 ? "died of " + text_of_signal(end.signal)
                                            : text("exited with ", end.exit_code);
    return text("worker ", end.local_rank, " ", how, " at ", end.at);
}

inline std::string text_of(const AgentEvent& event) {
    const char* const names[] = {"round",    "no_round",    "looked", "changed",
                                 "finished", "interrupted", "error"};
    std::string all = names[static_cast<int>(event.kind)];
    all += event.kind == Kind::looked ? text(" at ", event.at) : "";
    for (const WorkerEnd& end : event.ended) {
        all += ", " + text_of(end);
    }
    return all;
}

inline std::string text_of(const AgentActions& actions) {
    std::string all = actions.start ? ", start" : "";
    all += actions.signal != 0 ? ", " + text_of_signal(actions.signal) : "";
    all += actions.close ? ", close" : "";
    all += actions.leave ? ", leave" : "";
    return all.empty() ? "nothing" : all.substr(2);
}

/// A worker that ends so, at that time.
inline WorkerEnd exits(int local_rank, int code, Ms at) {
    return {.local_rank = local_rank, .exit_code = code, .at = at};
}
inline WorkerEnd dies(int local_rank, int signal, Ms at) {
    return {.local_rank = local_rank, .signal = signal, .at = at};
}

}  // namespace dist::harness
