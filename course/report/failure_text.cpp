#include "course/report/failure_text.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sstream>
#include <string_view>

#include "course/judge/explain.hpp"
#include "course/report/drawing.hpp"

namespace dist::cli {
namespace {

using harness::Phase;

constexpr int kMostOutputLines = 20;

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

std::string place(const Failure& failure) {
    return fmt::format(
        "{}:{}", std::filesystem::path(failure.file).filename().string(), failure.line
    );
}

/// The check with its values; as it was written if the values are unknown.
const std::string& expansion_of(const Failure& failure) {
    return failure.expansion.empty() ? failure.expression : failure.expansion;
}

/// Whether a value that the expression only names says its own sentence: "CHECK( result )" adds nothing to it.
bool says_all(const Failure& failure) {
    constexpr std::string_view kOpen = "CHECK( ";
    const std::string_view name = std::string_view(failure.expression)
                                      .substr(std::min(kOpen.size(), failure.expression.size()));
    const auto in_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    return failure.expression.starts_with(kOpen) && name.ends_with(" )") &&
           std::ranges::all_of(name.substr(0, name.size() - 2), in_name) &&
           failure.expansion != "false" && failure.expansion != "true";
}

/// "CHECK( sent == 2 )   t_test.cpp:12": the failing check and its place, where they tell more than the values do. The
/// place only in the exercise's own test: in a word of the harness there is nothing to read.
std::string check_line(const Failure& failure) {
    if (!says_all(failure)) {
        return fmt::format("{}   {}\n", failure.expression, place(failure));
    }
    return failure.file.find("tests/harness/") == std::string::npos ? place(failure) + "\n" : "";
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
    std::string out = check_line(failure);
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

/// What the call was asked for in which nothing moves: as the test says it on the first rank that waits.
std::string hanging_call(const TestResult& test) {
    std::string out;
    for (const RankResult& rank : test.per_rank) {
        if (test.status == State::hang && out.empty()) {
            for (const std::string& info : rank.info) {
                out += fmt::format("  {}\n", info);
            }
        }
    }
    return out;
}

/// Whose end stopped the others.
bool died(const RankResult& rank) {
    return rank.phase == Phase::died || rank.state == RankState::computing;
}

/// Where every rank stood, for a test that was stopped.
std::string roll_call(const TestResult& test) {
    // where everybody has left the test there is nothing to tell
    const auto stood = [](const RankResult& rank) {
        return rank.phase != Phase::absent && rank.phase != Phase::threw &&
               rank.phase != Phase::returned;
    };
    if (!std::any_of(test.per_rank.begin(), test.per_rank.end(), stood)) {
        return "";
    }
    std::string out;
    std::vector<int> victims;
    std::vector<int> dead;
    for (const RankResult& rank : test.per_rank) {
        if (died(rank)) {
            dead.push_back(rank.rank);
        } else {
            victims.push_back(rank.rank);
        }
    }
    for (const RankResult& rank : test.per_rank) {
        const bool told = dead.empty() || died(rank);
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

/// Where the exception that the message speaks of was thrown.
std::string thrown_at(const TestResult& test) {
    for (const RankResult& rank : test.per_rank) {
        const bool told =
            !rank.message.empty() && test.message.find(rank.message) != std::string::npos;
        if (rank.phase == Phase::threw && told && !rank.where.empty()) {
            return rank.reference.empty() ? fmt::format("thrown in {}\n", rank.where)
                                          : fmt::format(
                                                "thrown in the reference {}, called in {}\n",
                                                rank.reference, rank.where
                                            );
        }
    }
    return "";
}

/// About references that the file under test called and that did not return. They are right, so their arguments are
/// to blame, or another rank that left the call by an exception.
std::string about_references(const TestResult& test) {
    std::set<std::string> names;
    std::vector<int> left;
    bool others_wait = false;
    for (const RankResult& rank : test.per_rank) {
        if (!rank.reference.empty() && test.status != State::not_started) {
            names.insert(rank.reference);
        }
        if (rank.phase == Phase::threw) {
            left.push_back(rank.rank);
        }
        others_wait = others_wait || (rank.phase == Phase::waiting && !rank.reference.empty());
    }
    if (!left.empty() && others_wait) {
        return fmt::format(
            "{} left by an exception, and the others do not know\n", ranks_text(left)
        );
    }
    std::string out;
    for (const std::string& name : names) {
        out += fmt::format("{} is the course's own, and right: look at what you gave it\n", name);
    }
    return out;
}

/// What joins a remark to the one before it: a blank after a sentence, and within one that goes on in the next line.
std::string between(const std::string& before, const std::string& next) {
    constexpr std::size_t kLong = 60;  // nobody breaks a shorter line
    if (before.empty() || next.empty()) {
        return "";
    }
    const auto letter = [](char c) { return static_cast<unsigned char>(c); };
    const bool ended = std::string_view(".?!:").find(before.back()) != std::string_view::npos;
    const bool goes_on = before.size() > kLong && std::isupper(letter(before.front())) != 0 &&
                         std::islower(letter(next.front())) != 0;
    return ended || goes_on ? " " : "; ";
}

/// Whether it compares two values. What has one alone, a Comparison, says it in a sentence.
bool is_comparison(const std::string& expression) {
    const auto has = [&](std::string_view sign) {
        return expression.find(sign) != std::string::npos;
    };
    return has(" == ") || has(" != ") || has(" < ") || has(" <= ") || has(" > ") || has(" >= ");
}

/// What its values say: "10 == 11". With the check itself where they leave that open: "false   CHECK( is_sorted )".
std::string with_values(const Failure& failure) {
    const std::string values = first_line(expansion_of(failure));
    const bool is_told = values != "false" && values != "true" && values != "!true";
    const bool compares = failure.info.empty() && is_comparison(failure.expression);
    return failure.expansion.empty() || (is_told && !compares)
               ? values
               : values + "   " + first_line(failure.expression);
}

/// "rank 1: 10 == 11 (7 floats over 3 ranks; one message in each step)"
std::string in_one_line(int rank, const Failure& failure) {
    std::string text = fmt::format("rank {}: {}", rank, with_values(failure));
    if (failure.info.empty()) {
        return text;
    }
    std::string context;
    std::string before;
    for (const std::string& info : failure.info) {
        if (info == first_line(info)) {  // and no drawing
            context += between(before, info) + info;
            before = info;
        }
    }
    return fmt::format("{} ({})", text, context);
}

}  // namespace

std::string own_output(const TestResult& test, int most_lines) {
    std::string out;
    int lines = 0;
    for (const RankResult& rank : test.per_rank) {
        std::istringstream text(rank.output);
        for (std::string line; std::getline(text, line);) {
            if (++lines <= most_lines) {
                out += fmt::format("[rank {}] {}\n", rank.rank, line);
            }
        }
    }
    if (lines > most_lines) {
        out += fmt::format(
            "({} more {})\n", lines - most_lines, lines == most_lines + 1 ? "line" : "lines"
        );
    }
    return out.empty() ? out : "it printed:\n" + out;
}

std::string in_full(const TestResult& test) {
    std::string out;
    if (!test.message.empty() || test.status == State::pass) {
        out += test.message + "\n";
    }
    out += hanging_call(test) + thrown_at(test) + failing_check(test);
    if (spent_too_much(test)) {
        out += "\n" + small_drawing(test);
    }
    if (test.status != State::not_started) {
        out += roll_call(test);
    }
    for (const RankResult& rank : test.per_rank) {
        if (rank.phase == Phase::threw && !rank.message.empty() && rank.message != test.message &&
            test.message.find(rank.message) == std::string::npos) {
            out += fmt::format("rank {}: {}\n", rank.rank, rank.message);
        }
    }
    return out + about_references(test) + own_output(test, kMostOutputLines);
}

std::string in_one_line(const TestResult& test) {
    if (!test.message.empty()) {
        return first_line(test.message);
    }
    for (const RankResult& rank : test.per_rank) {
        if (!rank.failures.empty()) {
            return in_one_line(rank.rank, rank.failures.front());
        }
    }
    return std::string(name_of(test.status));
}

}  // namespace dist::cli
