#include "course/cli/program.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include "course/manifest/manifest.hpp"
#include "course/process/error.hpp"
#include "course/process/screen.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

void add_commands(CLI::App& app, Context& context, std::span<const AddCommand> commands) {
    app.require_subcommand(1);
    app.fallthrough();
    app.add_flag(
        "--verbose", context.verbose, "Show every cmake and mpirun line, and where the time went"
    );
    app.set_version_flag("--version", SHARDLINGS_VERSION);
    app.add_option_function<std::string>(
           "--preset", [&](const std::string& name) { context.preset = name; },
           "Build folder: release, debug (address and undefined-behaviour sanitizers), cuda"
    )
        ->group("For authors")
        ->check(CLI::IsMember({"release", "debug", "cuda"}));
    Command program(&app);
    for (const AddCommand add : commands) {
        add(program, context);
    }
}

/// Whether `name` stands where a command should and is none; says so, with the nearest.
bool refuse_unknown(const CLI::App& app, const std::string& name) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
        names.push_back(command->get_name());
    }
    if (name.starts_with("-") || std::find(names.begin(), names.end(), name) != names.end()) {
        return false;
    }
    const std::string near = nearest(name, names);
    fmt::print(
        stderr, "shardlings: there is no command '{}'.{} ./shardlings --help lists all\n", name,
        near.empty() ? "" : fmt::format(" Did you mean '{}'?", near)
    );
    return true;
}

void print_times(const Context& context) {
    if (!context.verbose || context.spent_s.empty()) {
        return;
    }
    std::string line = "time:";
    double sum = 0;
    for (const auto& [part, seconds] : context.spent_s) {
        line += fmt::format(" {} {:.2f} s,", part, seconds);
        sum += seconds;
    }
    fmt::print(stderr, "  {} together {:.2f} s\n", line, sum);
}

/// What was printed has to have arrived: a document that was cut off is no document.
void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        throw std::system_error(errno, std::generic_category(), "standard output");
    }
}

/// Parses the command line, which runs the command. Returns the exit status.
int obey(CLI::App& app, const Context& context, int argc, char** argv) {
    // CLI11 would not leave to launch what stands behind its dashes
    char** const last = argv + argc;
    char** const dashes =
        std::find_if(argv, last, [](std::string_view word) { return word == "--"; });
    if (dashes != last) {
        std::rotate(dashes, dashes + 1, last);
        --argc;
    }
    try {
        app.parse(argc, argv);
        return context.status;
    } catch (const CLI::ParseError& error) {  // --help and --version, too
        if (argc > 1 && refuse_unknown(app, argv[1])) {
            return exit_status::kUsage;
        }
        std::ostringstream out;
        std::ostringstream complaint;
        const bool done = app.exit(error, out, complaint) == 0;
        fmt::print("{}", folded_help(out.str(), columns_of(STDOUT_FILENO)));
        fmt::print(stderr, "{}", folded(complaint.str(), columns_of(STDERR_FILENO)));
        return done ? exit_status::kDone : exit_status::kUsage;
    }
}

/// The last words may have nobody left to read them: a closed terminal is no reason to abort.
void complain(const std::string& text) {
    std::fputs(folded("shardlings: " + text + "\n", columns_of(STDERR_FILENO)).c_str(), stderr);
}

}  // namespace

int run_program(int argc, char** argv, std::span<const AddCommand> commands) {
    Context context;
    const char* root = std::getenv("SHARDLINGS_ROOT");
    context.root = root != nullptr ? std::filesystem::path(root) : std::filesystem::current_path();
    catch_signals();

    CLI::App app(
        "Small exercises in distributed training: edit a file, save, see what is right.",
        "shardlings"
    );
    try {
        add_commands(app, context, commands);
        context.status = obey(app, context, argc, argv);
        flush_output();
    } catch (const CommandError& error) {
        complain(error.what());
        return error.status();
    } catch (const std::system_error& error) {  // a full disk, a pipe that nobody reads, ...
        complain(
            std::ferror(stdout) != 0 ? "standard output: " + error.code().message() : error.what()
        );
        return exit_status::kFailed;
    } catch (const std::exception& error) {
        complain(std::string(error.what()) + " (a fault of the course, not yours)");
        return exit_status::kOurs;
    }
    print_times(context);
    return context.status;
}

}  // namespace dist::cli
