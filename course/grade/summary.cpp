#include "course/grade/summary.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

#include "course/process/error.hpp"
#include "course/protocol/counted.hpp"

namespace dist::cli {

std::vector<std::string> notes_on(
    const HandedIn& handed_in, const std::optional<Due>& due, const std::string& file
) {
    std::vector<std::string> all = handed_in.notes;
    for (const Submission& submission : handed_in.submissions) {
        for (const std::string& note : submission.notes) {
            all.push_back(submission.name + ": " + note);
        }
        if (due && submission.changed) {
            const std::string doubt = due->doubt(submission.name, *submission.changed);
            if (!doubt.empty()) {
                all.push_back(submission.name + ": " + doubt);
            }
        }
    }
    for (const auto& dates : {due ? due->exceptions : Dates(), due ? due->handed_in : Dates()}) {
        for (const auto& date : dates) {
            const auto is_its = [&](const Submission& one) { return one.name == date.first; };
            if (std::ranges::none_of(handed_in.submissions, is_its)) {
                all.push_back(date.first + ": has a date in " + file + ", and no submission");
            }
        }
    }
    return all;
}

int print_summary(
    const std::vector<Submission>& submissions,
    std::span<const Graded> all,
    const std::vector<std::string>& notes,
    const std::string& out
) {
    std::size_t longest = 0;
    for (const Submission& submission : submissions) {
        longest = std::max(longest, submission.name.size());
    }
    std::size_t ours = 0;
    for (const Submission& submission : submissions) {
        double score = 0;
        double counted = 0;
        double most = 0;
        int days = 0;
        std::string others;
        for (const Graded& item : all) {
            if (item.submission != &submission) {
                continue;
            }
            const State state = state_in(item.record);
            score += score_of(item.record);
            counted += counted_of(item.record);
            days = item.record.value("days_late", 0);
            most += max_score_of(item.record);
            ours += state == State::harness_error ? 1U : 0U;
            if (state != State::pass) {
                others += fmt::format(
                    "{}{} {}", others.empty() ? "" : ", ", item.exercise->name, name_of(state)
                );
            }
        }
        std::string late;
        if (days > 0) {
            late =
                fmt::format("{}: {:g} count{}", late_by(days), counted, others.empty() ? "" : "; ");
        }
        fmt::print(
            "{:{}}  {:>4g} of {:<4g} {}{}\n", submission.name, longest, score, most, late, others
        );
    }
    for (const std::string& note : notes) {
        fmt::print("to look at: {}\n", note);
    }
    fmt::print(
        "{} written: results.csv, report.html, canvas.csv, junit.xml, gradescope, exercism, "
        "similar\n",
        out
    );
    if (ours > 0) {
        std::fflush(stdout);
        fmt::print(
            stderr, "{} could not be graded, through no fault of theirs: --resume tries again\n",
            harness::counted(ours, "answer")
        );
        return exit_status::kOurs;
    }
    return exit_status::kDone;
}

}  // namespace dist::cli
