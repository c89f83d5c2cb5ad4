#include "course/grade/evidence.hpp"

#include <fmt/format.h>

namespace dist::cli {

Checks checks_of(const Result& result) {
    Checks all;
    for (const TestResult& test : result.tests) {
        for (const RankResult& rank : test.per_rank) {
            all[test.name].push_back(rank.checks);
        }
    }
    return all;
}

std::set<std::string> passed_in(const Result& result) {
    std::set<std::string> passed;
    for (const TestResult& test : result.tests) {
        if (test.status == State::pass) {
            passed.insert(test.name);
        }
    }
    return passed;
}

std::string fewer_checks(const Checks& made, const Checks& expected) {
    for (const auto& [test, ranks] : expected) {
        const auto found = made.find(test);
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            const long n = found == made.end() || r >= found->second.size() ? 0 : found->second[r];
            if (n < ranks[r]) {
                return fmt::format(
                    "in '{}' rank {} made {} of {} checks: something left the test, or went past "
                    "them",
                    test, r, n, ranks[r]
                );
            }
        }
    }
    return "";
}

std::string other_checks(const Checks& made, const Checks& expected) {
    const std::string fewer = fewer_checks(made, expected);
    const std::string more = fewer.empty() ? fewer_checks(expected, made) : "";
    return more.empty() ? fewer : "the solution, " + more;
}

}  // namespace dist::cli
