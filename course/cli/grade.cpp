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
            "Folder with a folder, a .zip or a .tar.gz for each student"
        )
        .required();
    command.add_option("--out", arguments->out, "Folder for the grades").required();
    command.add_option(
        "--exercises", arguments->exercises,
        "Only these; without it, all that anybody has handed in"
    );
    command.add_option("--jobs", arguments->jobs, "Answers to try at a time").between(1, 64);
    command
        .add_option(
            "--seeds", arguments->seeds, "Inputs that each answer is tried with, drawn anew"
        )
        .between(1, 100);
    command.add_option(
        "--seed", arguments->seed, "The first of them, in the place of one that is drawn"
    );
    command.add_option("--points", arguments->points, "File that says what each exercise is worth");
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
        "Each answer is compiled and run in a sandbox, without network and without a view of your "
        "files. In DIR:\n"
        "report.html for people; results.csv; junit.xml; results.json for Gradescope and "
        "Exercism.\n"
        "What it stops, and what it does not: notebooks_md/grading.md."
    );
    command.callback([&context, arguments] { context.status = grade_all(context, *arguments); });
}

}  // namespace dist::cli
