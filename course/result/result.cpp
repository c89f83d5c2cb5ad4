#include "course/result/result.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fmt/chrono.h>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

constexpr std::array<std::string_view, 15> kNames = {
    "pass",       "fail",       "not_started",  "build_error",  "crash",
    "hang",       "time_limit", "memory_limit", "output_limit", "abort",
    "early_exit", "forbidden",  "not_run",      "skipped",      "harness_error",
};

constexpr std::array<std::string_view, 8> kRankNames = {
    "ok", "mismatch", "signal", "exit", "abort", "blocked", "computing", "not_started",
};

}  // namespace

std::string_view name_of(State state) {
    return kNames.at(static_cast<std::size_t>(state));
}

std::string_view name_of(RankState state) {
    return kRankNames.at(static_cast<std::size_t>(state));
}

std::optional<State> state_of(std::string_view name) {
    const auto* const found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
        return std::nullopt;
    }
    return static_cast<State>(found - kNames.begin());
}

int exit_status_of(State state) {
    switch (state) {
        case State::pass:
            return exit_status::kDone;
        case State::fail:
        case State::not_started:
        case State::forbidden:
        case State::not_run:
            return exit_status::kFailed;
        case State::build_error:
            return exit_status::kBuildError;
        case State::hang:
        case State::time_limit:
            return exit_status::kHang;
        case State::crash:
        case State::memory_limit:
        case State::output_limit:
        case State::abort:
        case State::early_exit:
            return exit_status::kCrash;
        case State::skipped:
            return exit_status::kSkipped;
        case State::harness_error:
            break;
    }
    return exit_status::kOurs;
}

std::string utc_now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

int Result::passed() const {
    const auto is_pass = [](const TestResult& test) { return test.status == State::pass; };
    return static_cast<int>(std::count_if(tests.begin(), tests.end(), is_pass));
}

const TestResult* Result::first_failed() const {
    const auto is_failed = [](const TestResult& test) {
        return test.status != State::pass && test.status != State::skipped;
    };
    const auto found = std::find_if(tests.begin(), tests.end(), is_failed);
    return found == tests.end() ? nullptr : &*found;
}

}  // namespace dist::cli
