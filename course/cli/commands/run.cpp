// run: build, launch, verdict, report.
#include "course/cli/commands/run.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "course/cli/commands/command.hpp"
#include "course/cli/exercises/progress.hpp"
#include "course/cli/exercises/select.hpp"
#include "course/cli/launch/attempt.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/subprocess.hpp"
#include "course/cli/report/report.hpp"
#include "course/cli/report/running_line.hpp"

namespace dist::cli {
namespace {

struct Arguments {
    std::string name;
    std::string as;
    LaunchOptions options;
    bool stand_in = false;
};

/// The version of the course, for the document; empty without git.
std::string course_commit(const Context& context) {
    try {
        const Ended ended = run(context, {"git", "rev-parse", "--short", "HEAD"});
        return ended.ok() ? ended.output.substr(0, ended.output.find('\n')) : "";
    } catch (const UsageError&) {
        return "";  // no git
    }
}

/// Only a whole run of the student's own file counts.
void remember(const Context& context, const std::string& name, State status) {
    Progress progress = read_progress(context.root);
    progress.current = name;
    note(progress, name, status);
    write_progress(context.root, progress);
}

int run_command(Context& context, const Arguments& arguments, bool ranks_given) {
    if (ranks_given) {
        expect_rank_count(arguments.options.ranks);
    }
    const Manifest manifest = read_manifest(context.root);
    const Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, arguments.name);
    const auto run_it = arguments.stand_in ? run_on_stand_in : run_anywhere;
    Result result = [&] {
        const RunningLine line(context);
        return run_it(context, program_of(exercise), arguments.options, arguments.as);
    }();
    const bool whole = arguments.options.test.empty() && !ranks_given && !arguments.stand_in;
    if (arguments.as.empty() && whole) {
        remember(context, exercise.name, result.status);
    }
    if (context.json) {
        result.course_commit = course_commit(context);
        fmt::print("{}\n", to_json(result));
    } else {
        fmt::print("{}", report(result, &exercise, use_colours()));
    }
    return exit_status_of(result.status);
}

}  // namespace

std::string run_whole(Context& context, const Exercise& exercise) {
    const Result result = run_anywhere(context, program_of(exercise));
    remember(context, exercise.name, result.status);
    return report(result, &exercise, use_colours());
}

void add_run(CLI::App& app, Context& context) {
    auto* command = app.add_subcommand("run", "Test an exercise on real processes");
    auto arguments = std::make_shared<Arguments>();
    LaunchOptions& options = arguments->options;
    command->add_option("NAME", arguments->name, "Exercise; without it, the current one");
    command->add_option("--as", arguments->as, "Test this file in the place of the exercise's");
    auto* ranks = command->add_option(
        "-n,--ranks", options.ranks,
        "Only this number of processes; tests that need others are skipped"
    );
    command->add_option("--seed", options.seed, "Of the inputs and delays")->capture_default_str();
    command->add_option("--test", options.test, "Only tests whose name holds this text");
    command->add_flag("--delays", options.delays, "Seeded delays in MPI calls, to bring races out");
    command->add_flag(
        "--stand-in", arguments->stand_in,
        "A GPU exercise without a GPU: its logic, on the host; never counts as done"
    );
    command->add_flag("--keep", options.keep, "Leave the run's folder in build/")
        ->group("For authors");
    command->add_flag("--json", context.json, "One JSON document on standard output, nothing else");
    command->callback([&context, arguments, ranks] {
        context.status = run_command(context, *arguments, ranks->count() > 0);
    });
}

}  // namespace dist::cli
