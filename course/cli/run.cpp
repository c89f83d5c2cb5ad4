// run: build, launch, verdict, report.
#include "course/cli/run.hpp"

#include <fmt/format.h>
#include <memory>

#include "course/cli/command.hpp"
#include "course/launch/gpu.hpp"
#include "course/launch/run_test.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/questions.hpp"
#include "course/manifest/select.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/fold.hpp"
#include "course/report/problems.hpp"
#include "course/report/report.hpp"
#include "course/report/running_line.hpp"

namespace dist::cli {
namespace {

struct RunArguments {
    std::string name;
    std::string as;
    LaunchOptions options;
    bool stand_in = false;
    bool output = false;
    bool problems = false;
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

/// Only a whole run of the student's own file counts. Returns what is known then.
Progress remember(
    const Context& context, const std::string& name, State status, const std::string& content
) {
    Progress progress = read_progress(context.root);
    progress.current = name;
    note(progress, name, status, content);
    write_progress(context.root, progress);
    return progress;
}

/// The first exercise after this one that is open, and can be solved here; else the first before it.
std::string next_exercise(
    Context& context, const Manifest& manifest, const Progress& progress, const Exercise& exercise
) {
    const bool gpu = gpu_code_missing(context).empty();
    std::string before;
    bool after = false;
    for (const Exercise& other : manifest.exercises) {
        const bool open = progress.done.count(other.name) == 0 &&
                          progress.skipped.count(other.name) == 0 && (gpu || !other.for_gpu());
        if (other.name == exercise.name) {
            after = true;
        } else if (open && after) {
            return other.name;
        } else if (open && before.empty()) {
            before = other.name;
        }
    }
    return before;
}

/// After a pass: what to go on with.
Telling what_follows(
    Context& context, const Manifest& manifest, const Progress& progress, const Exercise& exercise
) {
    return {
        .next = next_exercise(context, manifest, progress, exercise),
        .questions = questions_to_ask(context.root, manifest, progress, exercise.chapter)};
}

int run_command(Context& context, const RunArguments& arguments, bool ranks_given) {
    if (ranks_given) {
        expect_rank_count(arguments.options.ranks);
    }
    const Manifest manifest = read_manifest(context.root);
    Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, arguments.name);
    const bool own = arguments.as.empty() && !arguments.stand_in;
    const auto run_it = arguments.stand_in ? run_on_stand_in : run_anywhere;
    const std::string content = content_of(context.root, exercise);
    SharedJobs jobs(context);
    LaunchOptions options = arguments.options;
    options.rest_limit_s = kRestS;
    options.jobs = options.keep ? nullptr : &jobs;  // what is kept is the folder of a job
    Result result = [&] {
        const RunningLine line(context);
        return own ? run_own(context, exercise, options)
                   : run_it(context, program_of(exercise), options, arguments.as);
    }();
    if (arguments.as.empty() && !result.partial && !arguments.stand_in) {
        progress = remember(context, exercise.name, result.status, content);
    }
    if (context.json) {
        result.course_commit = course_commit(context);
        fmt::print("{}\n", to_json(result));
    } else if (arguments.problems) {
        fmt::print("{}", as_problems(result));
    } else {
        Telling telling = what_follows(context, manifest, progress, exercise);
        telling.output = arguments.output;
        print_folded(report(result, &exercise, use_colours(), telling));
    }
    return exit_status_of(result.status);
}

}  // namespace

std::string run_whole(Context& context, const Exercise& exercise, SharedJobs& jobs) {
    const std::string content = content_of(context.root, exercise);
    const Result result = run_own(context, exercise, options_of_a_student(jobs));
    const Progress progress = remember(context, exercise.name, result.status, content);
    const Telling telling = what_follows(context, read_manifest(context.root), progress, exercise);
    return report(result, &exercise, use_colours(), telling);
}

void add_run(Command& app, Context& context) {
    auto command = app.add_subcommand("run", "Test an exercise on real processes");
    auto arguments = std::make_shared<RunArguments>();
    LaunchOptions& options = arguments->options;
    command.add_option("NAME", arguments->name, "Exercise; without it, the current one");
    command.add_option("--as", arguments->as, "Test this file in place of the exercise's own");
    const Option ranks = command.add_option(
        "-n,--ranks", options.ranks,
        "Run on this many processes only; tests that need another number are skipped"
    );
    command.add_option("--seed", options.seed, "Seed of the inputs and delays")
        .capture_default_str();
    command.add_option("--test", options.test, "Run only tests whose name holds this text");
    command.add_flag("--delays", options.delays, "Delay MPI calls by --seed, to bring races out");
    command.add_flag(
        "--stand-in", arguments->stand_in,
        "Run a GPU exercise's logic on the host, without a GPU; never counts as done"
    );
    command.add_flag(
        "--output", arguments->output, "Show what the program printed, also in tests that pass"
    );
    command.add_flag(
        "--problems", arguments->problems,
        "One line for each failed test, as compilers write them: for editors"
    );
    command.add_flag("--keep", options.keep, "Keep the run's folder in build/")
        .group("For authors");
    command.add_flag("--json", context.json, "One JSON document on standard output, nothing else");
    command.callback([&context, arguments, ranks] {
        context.status = run_command(context, *arguments, ranks.count() > 0);
    });
}

}  // namespace dist::cli
