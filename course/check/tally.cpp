#include "course/check/tally.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "course/process/error.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

constexpr std::size_t kSlowest = 10;
constexpr double kLongVerdictS = 20;  // a student waits no longer

/// Why it failed: what it says itself, or the first failed check.
std::string sentence_of(const TestResult& test) {
    for (const RankResult& rank : test.per_rank) {
        if (test.message.empty() && !rank.failures.empty()) {
            return rank.failures.front().expression;
        }
    }
    return test.message;
}

/// The checks that failed, each by its place: what refuses a wrong answer.
std::vector<std::string> failed_checks(const Result& result) {
    std::set<std::string> places;
    for (const TestResult& test : result.tests) {
        for (const RankResult& rank : test.per_rank) {
            for (const Failure& failure : rank.failures) {
                const std::string file = std::filesystem::path(failure.file).filename();
                places.insert(fmt::format("{}:{}", file, failure.line));
            }
        }
    }
    return {places.begin(), places.end()};
}

}  // namespace

void Tally::line(bool good, const std::string& name, const std::string& what) {
    ++(good ? passed_ : failed_);
    const std::string word =
        paint(good ? "pass" : "FAIL", good ? Colour::green : Colour::red, use_colours());
    text(fmt::format("  {} {:<20} {}", word, name, what));
}

void Tally::skip(const std::string& name, std::size_t trials, const std::string& why) {
    skipped_ += static_cast<int>(trials);
    const std::string word = paint("skip", Colour::yellow, use_colours());
    text(fmt::format("  {} {:<20} {}", word, name, why));
}

void Tally::text(const std::string& text) const {
    fmt::print(out_, "{}\n", text);
    std::fflush(out_);
}

void Tally::unchanged(const std::string& name, const std::string& what) {
    ++unchanged_;
    line(true, name, what + ": unchanged since it passed");
}

void Tally::leave_out(std::size_t trials) {
    left_out_ += trials;
}

void Tally::trial(const std::string& name, const std::string& what, const Result& result) {
    const TestResult* const failed = result.first_failed();
    shown_.push_back(
        {name, what, std::string(name_of(result.status)), failed != nullptr ? failed->name : "",
         failed != nullptr ? sentence_of(*failed) : result.message, failed_checks(result),
         result.duration_s}
    );
}

void Tally::took(const std::string& name, double build_s, double run_s) {
    const auto same = std::find_if(took_.begin(), took_.end(), [&](const Took& took) {
        return took.name == name;
    });
    Took& took = same == took_.end() ? took_.emplace_back(Took{name, 0, 0}) : *same;
    took.build_s += build_s;
    took.run_s += run_s;
}

std::vector<Tally::Took> Tally::slowest() const {
    std::vector<Took> sorted = took_;
    std::sort(sorted.begin(), sorted.end(), [](const Took& a, const Took& b) {
        return a.build_s + a.run_s > b.build_s + b.run_s;
    });
    sorted.resize(std::min(sorted.size(), kSlowest));
    return sorted;
}

void Tally::print(const Context& context) const {
    if (took_.size() > 1) {
        text("\nThe slowest, in seconds (what is built next is built while tests run):");
        text(fmt::format("  {:<22} {:>6} {:>6}", "", "build", "run"));
        for (const Took& took : slowest()) {
            text(fmt::format("  {:<22} {:>6.1f} {:>6.1f}", took.name, took.build_s, took.run_s));
        }
    }
    std::string parts;
    for (const auto& [part, seconds] : context.spent_s) {
        parts += fmt::format("{}{} {:.0f} s", parts.empty() ? "" : ", ", part, seconds);
    }
    for (const Shown& shown : shown_) {
        if (shown.seconds > kLongVerdictS) {
            text(fmt::format(
                "  {:.0f} s to the verdict on {}, {}", shown.seconds, shown.name, shown.trial
            ));
        }
    }
    text("\nTime by part, builds at the same time added up: " + parts);
    if (unchanged_ > 0) {
        text(fmt::format(
            "{} of them are unchanged since they passed, and were not run: --fresh runs them",
            unchanged_
        ));
    }
    text(fmt::format("{} passed, {} failed, {} skipped", passed_, failed_, skipped_));
}

std::string Tally::document(const Context& context) const {
    nlohmann::ordered_json document = {
        {"passed", passed_},
        {"failed", failed_},
        {"skipped", skipped_},
        {"left_out", left_out_},
        {"unchanged", unchanged_}};
    document["seconds"] = nlohmann::ordered_json::object();
    for (const auto& [part, seconds] : context.spent_s) {
        document["seconds"][part] = seconds;
    }
    document["slowest"] = nlohmann::ordered_json::array();
    for (const Took& took : slowest()) {
        document["slowest"].push_back(
            {{"name", took.name}, {"build_s", took.build_s}, {"run_s", took.run_s}}
        );
    }
    document["trials"] = nlohmann::ordered_json::array();
    for (const Shown& shown : shown_) {
        document["trials"].push_back(
            {{"name", shown.name},
             {"trial", shown.trial},
             {"state", shown.state},
             {"test", shown.test},
             {"sentence", shown.sentence},
             {"checks", shown.checks},
             {"seconds", shown.seconds}}
        );
    }
    return document.dump();
}

int Tally::status() const {
    return failed_ > 0    ? exit_status::kFailed
           : skipped_ > 0 ? exit_status::kSkipped
                          : exit_status::kDone;
}

}  // namespace dist::cli
