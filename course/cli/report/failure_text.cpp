#include "course/cli/report/failure_text.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

#include "course/cli/judge/explain.hpp"

namespace dist::cli {
namespace {

constexpr int kMostOutputLines = 20;

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

std::string place(const Failure& failure) {
    return fmt::format(
        "{}:{}", std::filesystem::path(failure.file).filename().string(), failure.line
    );
}

/// The first failing check with its values, and on which other ranks the same one fails.
std::string failing_check(const TestResult& test) {
    const RankResult* first = nullptr;
    std::vector<int> also;
    std::size_t others = 0;
    for (const RankResult& rank : test.per_rank) {
        if (rank.failures.empty()) {
            continue;
        }
        if (first == nullptr) {
            first = &rank;
            others = rank.failures.size() - 1;
        } else if (rank.failures.front().line == first->failures.front().line) {
            also.push_back(rank.rank);
        }
    }
    if (first == nullptr) {
        return "";
    }
    const Failure& failure = first->failures.front();
    std::string out = fmt::format("{}   {}\n", failure.expression, place(failure));
    out += fmt::format("rank {}: {}\n", first->rank, failure.expansion);
    for (const std::string& info : failure.info) {
        out += fmt::format("  {}\n", info);
    }
    if (others > 0) {
        out +=
            fmt::format("({} more failing check{} on this rank)\n", others, others == 1 ? "" : "s");
    }
    if (!also.empty()) {
        out += fmt::format("the same check fails on {}\n", ranks_text(also));
    }
    return out;
}

/// Where every rank stood, for a test that was stopped.
std::string roll_call(const TestResult& test) {
    // where everybody has left the test there is nothing to tell
    const auto stood = [](const RankResult& rank) {
        return !rank.phase.empty() && rank.phase != "threw" && rank.phase != "returned";
    };
    if (!std::any_of(test.per_rank.begin(), test.per_rank.end(), stood)) {
        return "";
    }
    std::string out;
    std::vector<int> victims;
    std::vector<int> dead;
    for (const RankResult& rank : test.per_rank) {
        if (rank.phase == "died" || rank.state == "computing") {
            dead.push_back(rank.rank);
        } else {
            victims.push_back(rank.rank);
        }
    }
    for (const RankResult& rank : test.per_rank) {
        const bool told = dead.empty() || rank.phase == "died" || rank.state == "computing";
        out += told ? rank_line(rank) + "\n" : "";
    }
    if (!dead.empty() && !victims.empty()) {
        out += fmt::format(
            "{} {} stopped because of {}\n", ranks_text(victims),
            victims.size() == 1 ? "was" : "were", ranks_text(dead)
        );
    }
    return out;
}

/// What the student's program printed, each line with its rank.
std::string own_output(const TestResult& test) {
    std::string out;
    int lines = 0;
    for (const RankResult& rank : test.per_rank) {
        std::istringstream text(rank.output);
        for (std::string line; std::getline(text, line);) {
            if (++lines <= kMostOutputLines) {
                out += fmt::format("[rank {}] {}\n", rank.rank, line);
            }
        }
    }
    if (lines > kMostOutputLines) {
        out += fmt::format("({} more lines)\n", lines - kMostOutputLines);
    }
    return out.empty() ? out : "it printed:\n" + out;
}

}  // namespace

std::string in_full(const TestResult& test) {
    std::string out;
    if (!test.message.empty() || test.status == State::pass) {
        out += test.message + "\n";
    }
    out += failing_check(test);
    if (test.status != State::not_started) {
        out += roll_call(test);
    }
    for (const RankResult& rank : test.per_rank) {
        if (rank.phase == "threw" && !rank.message.empty() && rank.message != test.message &&
            test.message.find(rank.message) == std::string::npos) {
            out += fmt::format("rank {}: {}\n", rank.rank, rank.message);
        }
    }
    return out + own_output(test);
}

std::string in_one_line(const TestResult& test) {
    if (!test.message.empty()) {
        return first_line(test.message);
    }
    for (const RankResult& rank : test.per_rank) {
        if (!rank.failures.empty()) {
            const Failure& failure = rank.failures.front();
            const std::string& text =
                failure.expansion.empty() ? failure.expression : failure.expansion;
            return fmt::format("rank {}: {}", rank.rank, first_line(text));
        }
    }
    return std::string(name_of(test.status));
}

}  // namespace dist::cli
