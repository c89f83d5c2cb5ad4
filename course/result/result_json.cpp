#include <nlohmann/json.hpp>

#include "course/result/result.hpp"

namespace dist::cli {
namespace {

using nlohmann::json;

json failure_json(const Failure& failure) {
    return {
        {"expression", failure.expression},
        {"expansion", failure.expansion},
        {"file", failure.file},
        {"line", failure.line},
        {"info", failure.info},
    };
}

json rank_json(const RankResult& rank) {
    json out = {{"rank", rank.rank}, {"state", name_of(rank.state)}};
    if (rank.state == RankState::signal) {
        out["signal"] = rank.signal;
    }
    if (rank.state == RankState::exit || rank.state == RankState::abort) {
        out["exit_code"] = rank.exit_code;
    }
    if (!rank.call.empty()) {
        out["mpi_call"] = rank.call;
        out["blocked_s"] = rank.blocked_s;
        if (rank.peer >= 0) {
            out["peer"] = rank.peer;
        }
        if (rank.tag >= 0) {
            out["tag"] = rank.tag;
        }
    }
    if (!rank.where.empty()) {
        out["where"] = rank.where;
    }
    if (!rank.died.empty()) {
        out["died"] = rank.died;
    }
    if (!rank.message.empty()) {
        out["message"] = rank.message;
    }
    for (const Failure& failure : rank.failures) {
        out["failures"].push_back(failure_json(failure));
    }
    if (!rank.output.empty()) {
        out["output"] = rank.output;
    }
    for (const auto& [name, value] : rank.counters) {
        out["counters"][name] = value;
    }
    return out;
}

json test_json(const TestResult& test) {
    json out = {
        {"id", test.name},
        {"name", test.name},
        {"ranks", test.ranks},
        {"status", name_of(test.status)},
        {"duration_s", test.duration_s},
        {"repro", test.repro},
        {"per_rank", json::array()},
    };
    if (!test.message.empty()) {
        out[test.status == State::skipped ? "skip_reason" : "message"] = test.message;
    }
    if (test.status == State::skipped && test.message.empty()) {
        out["skip_reason"] = "not said";
    }
    if (!test.where.empty()) {
        out["where"] = test.where;
    }
    for (const RankResult& rank : test.per_rank) {
        out["per_rank"].push_back(rank_json(rank));
    }
    return out;
}

json result_json(const Result& result) {
    json out = {
        {"format", 1},
        {"runner", {{"version", SHARDLINGS_VERSION}, {"course_commit", result.course_commit}}},
        {"exercise", result.exercise},
        {"mode", "learn"},
        {"status", name_of(result.status)},
        {"seed", result.seed},
        {"started_at", result.started_at},
        {"duration_s", result.duration_s},
        {"complete", true},
        {"build", {{"ok", result.status != State::build_error}, {"log", result.build_log}}},
        {"message", result.message},
        {"tests", json::array()},
    };
    for (const TestResult& test : result.tests) {
        out["tests"].push_back(test_json(test));
    }
    for (const Result& tried : result.stand_in) {
        out["stand_in"] = result_json(tried);
    }
    if (result.on_stand_in) {
        out["on_stand_in"] = true;
    }
    return out;
}

}  // namespace

std::string to_json(const Result& result) {
    // a student's program may print bytes that are no text: they become a replacement character
    return result_json(result).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace dist::cli
