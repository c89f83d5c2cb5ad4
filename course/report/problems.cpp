#include "course/report/problems.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <vector>

#include "course/manifest/cases.hpp"
#include "course/report/failure_text.hpp"

namespace dist::cli {
namespace {

/// The line of the file in which a rank stood: "20".
std::string line_of(const std::string& file, const TestResult& test) {
    std::vector<std::string> places = {test.where};
    for (const RankResult& rank : test.per_rank) {
        places.push_back(rank.where);
    }
    const std::filesystem::path path = file;
    const std::optional<InList> in = in_list(path);  // of a .cpp
    const std::string begin =
        in ? in->name + ".cpp:"
           : path.stem().string() + (path.extension() == ".cu" ? ".cu:" : ".cpp:");
    for (const std::string& place : places) {
        if (place.starts_with(begin)) {
            return place.substr(begin.size());
        }
    }
    return "1";
}

}  // namespace

std::string as_problems(const Result& result) {
    const std::string& file = result.as.empty() ? result.source : result.as;
    if (result.status == State::build_error) {
        return result.build_log;
    }
    std::string lines;
    for (const TestResult& test : result.tests) {
        if (test.status != State::pass && test.status != State::skipped &&
            test.status != State::not_run) {
            lines += fmt::format(
                "{}:{}: error: {}: {}\n", file, line_of(file, test), test.name, in_one_line(test)
            );
            if (result.status == State::not_started) {
                break;  // all others say the same
            }
        }
    }
    if (lines.empty() && result.status != State::pass && result.status != State::skipped) {
        lines = fmt::format("{}:1: error: {}\n", file, result.message);
    }
    return lines;
}

}  // namespace dist::cli
