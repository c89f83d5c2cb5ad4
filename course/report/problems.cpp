#include "course/report/problems.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <vector>

namespace dist::cli {
namespace {

std::string in_one_line(std::string text) {
    text.erase(text.find_last_not_of(" \n") + 1);
    for (char& c : text) {
        c = c == '\n' ? ' ' : c;
    }
    return text;
}

/// The line of the file in which a rank stood: "20".
std::string line_of(const std::string& file, const TestResult& test) {
    std::vector<std::string> places = {test.where};
    for (const RankResult& rank : test.per_rank) {
        places.push_back(rank.where);
    }
    const std::string begin = std::filesystem::path(file).stem().string() + ".cpp:";
    for (const std::string& place : places) {
        if (place.starts_with(begin)) {
            return place.substr(begin.size());
        }
    }
    return "1";
}

/// What is wrong: the test's own words, or else the first that a rank has.
std::string what_of(const TestResult& test) {
    if (!test.message.empty()) {
        return test.message;
    }
    for (const RankResult& rank : test.per_rank) {
        if (!rank.message.empty()) {
            return rank.message;
        }
        if (!rank.failures.empty()) {
            return rank.failures.front().expansion;
        }
    }
    return std::string(name_of(test.status));
}

}  // namespace

std::string as_problems(const Result& result) {
    const std::string& file = result.as.empty() ? result.source : result.as;
    if (result.status == State::build_error) {
        return result.build_log;
    }
    std::string lines;
    for (const TestResult& test : result.tests) {
        if (test.status != State::pass && test.status != State::skipped) {
            lines += fmt::format(
                "{}:{}: error: {}: {}\n", file, line_of(file, test), test.name,
                in_one_line(what_of(test))
            );
            if (result.status == State::not_started) {
                break;  // all others say the same
            }
        }
    }
    if (lines.empty() && result.status != State::pass && result.status != State::skipped) {
        lines = fmt::format("{}:1: error: {}\n", file, in_one_line(result.message));
    }
    return lines;
}

}  // namespace dist::cli
