// grade: a folder of submissions in, grades out.
#include <memory>

#include "course/cli/command.hpp"
#include "course/grade/grading.hpp"

namespace dist::cli {

void add_grade(Command& app, Context& context) {
    auto command = app.add_subcommand("grade", "For instructors: grade a folder of submissions");
    auto arguments = std::make_shared<GradingOptions>();
    command
        .add_option(
            "SUBMISSIONS", arguments->submissions,
            "Folder with a folder, an archive, or Canvas's files for each student"
        )
        .required();
    command.add_option("--out", arguments->out, "Folder for the grades").required();
    command.add_option(
        "--exercises", arguments->exercises,
        "Grade only these (default: all that anybody has worked on)"
    );
    command.add_option("--jobs", arguments->jobs, "Number of answers to test at a time")
        .between(1, 64);
    command
        .add_option(
            "--seeds", arguments->seeds,
            "Number of inputs for each answer, drawn when grading begins"
        )
        .between(1, 100);
    command.add_option(
        "--seed", arguments->seed, "Use the inputs SEED, SEED + 1, ... instead of drawn ones"
    );
    command.add_option("--points", arguments->points, "File that says what each exercise is worth");
    command.add_option(
        "--due", arguments->due,
        "File that says when it was due, for whom later, and what a day costs"
    );
    command
        .add_option(
            "--time-limit", arguments->time_limit_s,
            "Seconds for an answer's compiler, and for its tests"
        )
        .between(1, 3600);
    command.add_flag("--resume", arguments->resume, "Go on with a grading that was stopped");
    command.add_flag(
        "--only-failed", arguments->only_failed, "Repeat what did not pass, with the same inputs"
    );
    command.add_flag(
        "--no-sandbox", arguments->no_sandbox, "Without bubblewrap: only for code that you trust"
    );
    command.footer(
        "Each answer is compiled and run in a sandbox, which has no network and does not see your "
        "files. DIR then holds\n"
        "report.html for people; results.csv; canvas.csv; junit.xml; gradescope/ and exercism/ "
        "with "
        "a document for each submission;\n"
        "similar/ for tools that look for copies.\n"
        "A file for --due: due = 2026-12-01T23:59:00+01:00, lost_per_day = 20, and a table "
        "[exceptions] with lines ada = DATE.\n"
        "What it stops, and what it does not: notebooks_md/grading.md."
    );
    command.callback([&context, arguments] { context.status = grade_all(context, *arguments); });
}

}  // namespace dist::cli
