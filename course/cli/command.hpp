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

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace dist::cli {

/// What all commands share.
struct Context {
    std::filesystem::path root;      // of the repository
    std::string preset = "release";  // the build folder's name
    bool verbose = false;
    bool json = false;
    /// Asked often while a program runs; true stops it, and Interrupted is thrown.
    std::function<bool()> cancelled = nullptr;
    int status = 0;  // what the command ends with
    /// Where the time went, for --verbose.
    std::vector<std::pair<std::string, double>> spent_s = {};

    [[nodiscard]] std::filesystem::path build_folder() const { return root / "build" / preset; }
    /// Adds seconds to the part of that name.
    void spend(const std::string& part, double seconds);
};

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
