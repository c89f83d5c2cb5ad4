// How a command joins the program: a file defines add_NAME, which adds a subcommand to the app. Its
// callback does the work and leaves the exit status in the context; what it throws, main prints.
//
//     void add_hint(Command& app, Context& context) {
//         auto command = app.add_subcommand("hint", "The next hint");
//         auto name = std::make_shared<std::string>();
//         command.add_option("NAME", *name);
//         command.callback([&context, name] { context.status = print_hint(context, *name); });
//     }
//
// --verbose belongs to the app and may stand anywhere; --json belongs to each command that has it,
// and goes to Context::json. With --json, standard output holds the one document: talk goes to
// stderr.
#pragma once

#include "course/cli/command_line.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

void add_list(Command& app, Context& context);
void add_run(Command& app, Context& context);
void add_hint(Command& app, Context& context);
void add_ask(Command& app, Context& context);
void add_solution(Command& app, Context& context);
void add_diff(Command& app, Context& context);
void add_reset(Command& app, Context& context);
void add_verify(Command& app, Context& context);
void add_watch(Command& app, Context& context);
void add_doctor(Command& app, Context& context);
void add_bench(Command& app, Context& context);
void add_train(Command& app, Context& context);
void add_launch(Command& app, Context& context);
void add_book(Command& app, Context& context);
void add_plot(Command& app, Context& context);
void add_grade(Command& app, Context& context);
void add_simulate(Command& app, Context& context);
void add_trace(Command& app, Context& context);
void add_prove(Command& app, Context& context);
void add_check(Command& app, Context& context);
void add_demo(Command& app, Context& context);
void add_test(Command& app, Context& context);

}  // namespace dist::cli
