// verify: runs every exercise again. What passes is marked as done, and only that.
#include <fmt/format.h>

#include "course/cli/command.hpp"
#include "course/launch/run_test.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/process/error.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

int verify(Context& context) {
    const Manifest manifest = read_manifest(context.root);
    std::size_t done = 0;
    std::size_t skipped = 0;
    for (const Exercise& exercise : manifest.exercises) {
        const std::string content = content_of(context.root, exercise);
        const State status = run_own(context, exercise).status;
        Progress progress = read_progress(context.root);
        const bool lost = status != State::pass && progress.done.contains(exercise.name);
        done += status == State::pass ? 1 : 0;
        skipped += status == State::skipped ? 1 : 0;
        note(progress, exercise.name, status, content);
        write_progress(context.root, progress);
        const Colour colour = status == State::pass ? Colour::green
                              : lost                ? Colour::red
                                                    : Colour::dim;
        fmt::print(
            "  {} {}{}\n", paint(fmt::format("{:<13}", name_of(status)), colour, use_colours()),
            exercise.name, lost ? "   passed before: no longer marked as done" : ""
        );
        std::fflush(stdout);
    }
    fmt::print("\n{} of {} exercises done", done, manifest.exercises.size());
    fmt::print("{}\n", skipped > 0 ? fmt::format(", {} skipped", skipped) : "");
    return done == manifest.exercises.size()             ? exit_status::kDone
           : done + skipped == manifest.exercises.size() ? exit_status::kSkipped
                                                         : exit_status::kFailed;
}

}  // namespace

void add_verify(Command& app, Context& context) {
    auto command = app.add_subcommand(
        "verify", "Run every exercise again; what fails is no longer marked as done"
    );
    command.callback([&context] { context.status = verify(context); });
}

}  // namespace dist::cli
