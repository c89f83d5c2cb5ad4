#include "course/launch/mine.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

#include "course/build/setup.hpp"
#include "course/launch/run_test.hpp"
#include "course/launch/shared_job.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/process/error.hpp"
#include "course/process/progress_line.hpp"
#include "course/result/result.hpp"

namespace dist::cli {
namespace {

State try_exercise(
    Context& context, const Exercise& exercise, const std::string& content, SharedJobs& jobs
) {
    const State state = run_own(context, exercise, options_of_a_student(jobs)).status;
    if (state == State::pass || state == State::fail || state == State::not_started) {
        Progress progress = read_progress(context.root);  // other marks are verify's to take
        const bool done = progress.done.contains(exercise.name);
        note(progress, exercise.name, state, content);
        if (done && state == State::fail) {
            progress.done.insert(exercise.name);
        }
        write_progress(context.root, progress);
    }
    return state;
}

}  // namespace

std::string describe_tried(const std::vector<std::pair<std::string, State>>& tried) {
    const auto count = [&](State wanted) {
        return std::ranges::count(tried, wanted, &std::pair<std::string, State>::second);
    };
    std::string text =
        fmt::format("pass: {}, not started: {}", count(State::pass), count(State::not_started));
    for (const auto& [name, state] : tried) {
        if (state != State::pass && state != State::not_started) {
            text += fmt::format(", {}: {}", name, name_of(state));
        }
    }
    return text;
}

std::vector<std::string> finished_exercises(
    Context& context, const std::vector<std::string>& used
) {
    const Manifest manifest = read_manifest(context.root);
    const Progress progress = read_progress(context.root);
    const std::vector<const Exercise*> stack = manifest.stack_of(used);
    std::vector<std::string> finished;
    std::vector<std::pair<std::string, State>> tried;
    SharedJobs jobs(context);
    ProgressLine line;
    for (std::size_t i = 0; i < stack.size(); ++i) {
        const Exercise& exercise = *stack[i];
        const std::string content = content_of(context.root, exercise);
        std::optional<State> state = verdict_on(progress, exercise.name, content);
        if (!state) {
            line.show(fmt::format(
                "running the exercises that it stands on, {} of {}: {}", i + 1, stack.size(),
                exercise.name
            ));
            state = try_exercise(context, exercise, content, jobs);
            tried.emplace_back(exercise.name, *state);
        }
        if (state == State::pass) {
            finished.push_back(exercise.name);
        }
    }
    line.clear();
    if (!tried.empty()) {
        fmt::print(
            stderr, "Ran the exercises that it stands on, but for those that are unchanged: {}\n",
            describe_tried(tried)
        );
    }
    return finished;
}

std::string describe_stack(
    const Context& context,
    const std::vector<std::string>& used,
    const std::vector<std::string>& mine
) {
    const Manifest manifest = read_manifest(context.root);
    std::vector<std::string> yours;
    std::vector<std::string> reference;
    for (const Exercise* exercise : manifest.stack_of(used)) {
        auto& part = std::ranges::find(mine, exercise->name) == mine.end() ? reference : yours;
        part.insert(part.begin(), exercise->name);
    }
    std::string text = "stack:";
    if (!yours.empty()) {
        text += fmt::format(" yours: {}", fmt::join(yours, ", "));
    }
    if (!reference.empty()) {
        text += fmt::format(
            "{} the reference's: {}", yours.empty() ? "" : ";", fmt::join(reference, ", ")
        );
    }
    return text;
}

void configure_mine(Context& context, const std::vector<std::string>& exercises) {
    if (exercises.empty()) {
        throw CommandError(
            exit_status::kFailed,
            "no exercise that this stands on passes yet, so there is no stack of your own; start "
            "with ./shardlings"
        );
    }
    const std::string list = fmt::format("{}", fmt::join(exercises, ";"));
    if (cached_value(context, "SHARDLINGS_MINE") != list) {
        configure(context, {"-DSHARDLINGS_MINE=" + list});
    }
}

}  // namespace dist::cli
