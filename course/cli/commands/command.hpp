// How a command joins the program: a file defines add_NAME, which adds a subcommand to the app. Its
// callback does the work and leaves the exit status in the context; what it throws, main prints.
//
//     void add_hint(CLI::App& app, Context& context) {
//         auto* command = app.add_subcommand("hint", "The next hint");
//         auto name = std::make_shared<std::string>();
//         command->add_option("NAME", *name);
//         command->callback([&context, name] { context.status = print_hint(context, *name); });
//     }
//
// --verbose belongs to the app and may stand anywhere; --json belongs to each command that has it,
// and goes to Context::json. With --json, standard output holds the one document: talk goes to
// stderr.
#pragma once

#include "course/cli/process/context.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace dist::cli {

void add_list(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);
void add_hint(CLI::App& app, Context& context);
void add_solution(CLI::App& app, Context& context);
void add_diff(CLI::App& app, Context& context);
void add_reset(CLI::App& app, Context& context);
void add_verify(CLI::App& app, Context& context);
void add_watch(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_train(CLI::App& app, Context& context);
void add_check(CLI::App& app, Context& context);
void add_demo(CLI::App& app, Context& context);
void add_test(CLI::App& app, Context& context);

}  // namespace dist::cli
