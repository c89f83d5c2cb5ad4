// reset: the stub again, with the student's file kept aside.
#include "course/cli/reset.hpp"

#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>

#include "course/cli/command.hpp"
#include "course/files/atomic_file.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/stub.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

std::string stub_to_put_back(const Context& context, const Exercise& exercise) {
    if (const std::optional<std::string> stub = committed_stub(context, exercise)) {
        return *stub;
    }
    throw CommandError(
        exit_status::kUsage,
        "git knows no stub of " + exercise.source().string() + ": reset needs a clone of the course"
    );
}

// Errors  CommandError when `file` cannot be written whole.
void write_text(const fs::path& file, const std::string& text) {
    try {
        files::write_atomically(file, text);
    } catch (const std::system_error& error) {
        throw CommandError(exit_status::kUsage, error.what());
    }
}

}  // namespace

void reset(Context& context, const Exercise& exercise) {
    const fs::path file = context.root / exercise.source();
    const std::string stub = stub_to_put_back(context, exercise);
    const std::string mine = read_text(file);
    if (mine == stub) {
        print_folded(exercise.source().string() + " is the stub already.\n");
        return;
    }
    const fs::path backup =
        fs::path(".shardlings") / "backup" /
        fmt::format("{:%Y-%m-%d_%H-%M-%S}", fmt::localtime(std::time(nullptr))) / exercise.source();
    if (fs::exists(file)) {
        fs::create_directories((context.root / backup).parent_path());
        write_text(context.root / backup, mine);
        print_folded(fmt::format("Your file is kept: {}\n", backup.string()));
    }
    write_text(file, stub);
    Progress progress = read_progress(context.root);
    progress.done.erase(exercise.name);
    progress.hints.erase(exercise.name);
    progress.current = exercise.name;
    write_progress(context.root, progress);
    print_folded(exercise.source().string() + " is the stub again.\n");
}

void add_reset(Command& app, Context& context) {
    auto command = app.add_subcommand("reset", "Put the stub back; your file is kept aside");
    auto name = std::make_shared<std::string>();
    auto yes = std::make_shared<bool>(false);
    command.add_option("NAME", *name, "An exercise").required();
    command.add_flag("--yes", *yes, "Do not ask");
    command.callback([&context, name, yes] {
        const Manifest manifest = read_manifest(context.root);
        const Exercise& exercise = manifest.find(*name);
        if (!*yes) {
            if (isatty(STDIN_FILENO) == 0) {
                throw UsageError(
                    "reset asks before it changes anything; without a terminal, give --yes"
                );
            }
            fmt::print("Put the stub back into {}? [y/N] ", exercise.source().string());
            std::fflush(stdout);
            std::string answer;
            std::getline(std::cin, answer);
            if (answer != "y" && answer != "Y" && answer != "yes") {
                fmt::print("Nothing was changed.\n");
                return;
            }
        }
        reset(context, exercise);
    });
}

}  // namespace dist::cli
