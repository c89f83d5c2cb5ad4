// verify: runs every exercise again that may have changed. What passes is marked as done, and only that.
#include <fmt/format.h>
#include <memory>
#include <string_view>

#include "course/cli/command.hpp"
#include "course/launch/run_test.hpp"
#include "course/launch/shared_job.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/process/error.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

void print_line(State status, const std::string& name, std::string_view more) {
    const Colour colour = status == State::pass ? Colour::green
                          : !more.empty()       ? Colour::red
                                                : Colour::dim;
    fmt::print(
        "  {} {}{}{}\n", paint(fmt::format("{:<13}", name_of(status)), colour, use_colours()), name,
        more.empty() ? "" : "   ", more
    );
    std::fflush(stdout);
}

int verify(Context& context, bool fresh) {
    const Manifest manifest = read_manifest(context.root);
    std::size_t done = 0;
    std::size_t skipped = 0;
    std::size_t unchanged = 0;
    SharedJobs jobs(context);
    for (const Exercise& exercise : manifest.exercises) {
        if (!fresh && passes_unchanged(context.root, read_progress(context.root), exercise)) {
            print_line(State::pass, exercise.name, "unchanged since it passed");
            ++done;
            ++unchanged;
            continue;
        }
        const std::string content = content_of(context.root, exercise);
        const State status = run_own(context, exercise, options_of_a_student(jobs)).status;
        Progress progress = read_progress(context.root);
        const bool lost = status != State::pass && progress.done.contains(exercise.name);
        done += status == State::pass ? 1 : 0;
        skipped += status == State::skipped ? 1 : 0;
        note(progress, exercise.name, status, content);
        write_progress(context.root, progress);
        print_line(status, exercise.name, lost ? "passed before: no longer marked as done" : "");
    }
    fmt::print("\n{} of {} exercises done", done, manifest.exercises.size());
    fmt::print("{}\n", skipped > 0 ? fmt::format(", {} skipped", skipped) : "");
    if (unchanged > 0) {
        fmt::print(
            "{} unchanged since they passed, and not run: verify --fresh runs them\n", unchanged
        );
    }
    return done == manifest.exercises.size()             ? exit_status::kDone
           : done + skipped == manifest.exercises.size() ? exit_status::kSkipped
                                                         : exit_status::kFailed;
}

}  // namespace

void add_verify(Command& app, Context& context) {
    auto command = app.add_subcommand(
        "verify",
        "Run every exercise that has changed since it passed; what fails is no longer marked as "
        "done"
    );
    auto fresh = std::make_shared<bool>(false);
    command.add_flag("--fresh", *fresh, "Also run what is unchanged");
    command.callback([&context, fresh] { context.status = verify(context, *fresh); });
}

}  // namespace dist::cli
