// A log as it stands in a record: a row of numbers for each step.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

#include "course/trace/step.hpp"

namespace dist::trace {

/// At most kMostSteps of it.
inline nlohmann::json to_json(const Log& log) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Step& step : log.steps) {
        if (rows.size() == kMostSteps) {
            break;
        }
        rows.push_back(
            {static_cast<int>(step.did), step.thread, step.id, step.peer, step.peer_id, step.tag,
             step.bytes, step.since_s, step.at_s}
        );
    }
    const Limits& limits = log.limits;
    nlohmann::json out = {
        {"steps", rows},
        {"cut", log.cut || rows.size() < log.steps.size()},
        {"messages", limits.messages},
        {"bytes", limits.bytes},
        {"rounds", limits.rounds}};
    if (!log.stacks.empty()) {
        out["stacks"] = log.stacks;
    }
    for (const Payload& payload : log.payloads) {
        out["payloads"].push_back({payload.at, payload.values});
    }
    for (const Memory& memory : log.memory) {
        out["memory"].push_back({memory.name, memory.at, memory.bytes});
    }
    if (limits.partners) {
        out["partners"] = *limits.partners;
    }
    return out;
}

/// Errors  nlohmann::json::exception for what is no log
inline Log log_of(const nlohmann::json& in) {
    Log log;
    for (const nlohmann::json& row : in.at("steps")) {
        const int did = row.at(0).get<int>();
        Step step;
        step.did = static_cast<Did>(std::clamp(did, 0, static_cast<int>(Did::join_thread)));
        step.thread = row.at(1).get<int>();
        step.id = row.at(2).get<int>();
        step.peer = row.at(3).get<int>();
        step.peer_id = row.at(4).get<int>();
        step.tag = row.at(5).get<int>();
        step.bytes = row.at(6).get<int>();
        step.since_s = row.at(7).get<double>();
        step.at_s = row.at(8).get<double>();
        log.steps.push_back(step);
    }
    log.cut = in.at("cut").get<bool>();
    log.limits.messages = in.at("messages").get<long>();
    log.limits.bytes = in.at("bytes").get<long>();
    log.limits.rounds = in.at("rounds").get<long>();
    if (in.contains("partners")) {
        log.limits.partners = in["partners"].get<std::set<int>>();
    }
    log.stacks = in.value("stacks", log.stacks);
    for (const nlohmann::json& row : in.value("payloads", nlohmann::json::array())) {
        log.payloads.push_back({row.at(0).get<std::uint64_t>(), row.at(1).get<std::string>()});
    }
    for (const nlohmann::json& row : in.value("memory", nlohmann::json::array())) {
        log.memory.push_back(
            {row.at(0).get<std::string>(), row.at(1).get<std::uint64_t>(), row.at(2).get<long>()}
        );
    }
    return log;
}

}  // namespace dist::trace
