#include "course/cli/tested_answer.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <vector>

#include "course/launch/run_test.hpp"
#include "course/manifest/progress.hpp"
#include "course/process/error.hpp"
#include "course/process/screen.hpp"
#include "course/process/subprocess.hpp"
#include "course/protocol/counted.hpp"
#include "course/report/failure_text.hpp"
#include "course/report/fold.hpp"
#include "course/report/running_line.hpp"
#include "course/result/result.hpp"

namespace dist::cli {
namespace {

Result run_and_note(Context& context, const Exercise& exercise, const std::string& as) {
    const std::string content = content_of(context.root, exercise);
    Result result = [&] {
        const RunningLine line(context);
        return as.empty() ? run_own(context, exercise)
                          : run_test(context, program_of(exercise), {}, as);
    }();
    if (as.empty()) {
        Progress progress = read_progress(context.root);
        note(progress, exercise.name, result.status, content);
        write_progress(context.root, progress);
    }
    return result;
}

bool known_to_pass(const Context& context, const Exercise& exercise) {
    return verdict_on(
               read_progress(context.root), exercise.name, content_of(context.root, exercise)
           ) == State::pass;
}

/// "my_ring.cpp does not pass its test "... sums every element" on 3 ranks"
std::string sentence(const Result& result) {
    const TestResult* failed = result.first_failed();
    return failed == nullptr
               ? fmt::format("{} does not pass its test: {}", result.source, result.message)
               : fmt::format(
                     "{} does not pass its test \"{}\" on {}", result.source, failed->name,
                     harness::counted(failed->ranks, "rank")
                 );
}

void complain(const Result& result, const std::string& as) {
    std::vector<std::string> again = {"./shardlings", "run", result.exercise};
    if (!as.empty()) {
        again.insert(again.end(), {"--as", as});
    }
    const TestResult* failed = result.first_failed();
    const std::string text = fmt::format(
        "{}\n{}  {}\n", sentence(result),
        failed == nullptr ? "" : fmt::format("  {}\n", in_one_line(*failed)), shell_line(again)
    );
    fmt::print(stderr, "{}", folded(text, columns_of(STDERR_FILENO)));
}

}  // namespace

std::string refusal_by_test(Context& context, const Exercise& exercise, const std::string& as) {
    if (as.empty() && known_to_pass(context, exercise)) {
        return "";
    }
    const Result result = run_and_note(context, exercise, as);
    switch (result.status) {
        case State::pass:
        case State::skipped:
            return "";
        case State::build_error:
            throw CommandError(exit_status::kBuildError, result.message);
        case State::not_started:
            throw CommandError(
                exit_status::kFailed,
                fmt::format("{} is not started: its TODO is still there", exercise.name)
            );
        default:
            complain(result, as);
            return sentence(result);
    }
}

}  // namespace dist::cli
