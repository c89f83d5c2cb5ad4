// prove: every order of messages.
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>

#include "course/build/build.hpp"
#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/cli/simulated_cluster.hpp"
#include "course/files/atomic_file.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/select.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/prove/proof.hpp"
#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

struct ProveArguments {
    std::string name;
    std::string as;
    int ranks = 3;
    std::string test;
    int states = 1'000'000;
    int time_limit_s = 300;
    std::string replay;
    std::string svg;
};

/// The line that proves this again.
std::string command_of(const ProveArguments& arguments) {
    std::vector<std::string> line = {
        "./shardlings", "prove", arguments.name, "-n", std::to_string(arguments.ranks)};
    if (!arguments.as.empty()) {
        line.insert(line.end(), {"--as", arguments.as});
    }
    if (!arguments.test.empty()) {
        line.insert(line.end(), {"--test", arguments.test});
    }
    return shell_line(line);
}

/// The file in its test, for simulated ranks.
Built build_simulated(Context& context, const Exercise& exercise, const fs::path& file) {
    Program program = program_of(exercise);
    program.simulated_test = true;
    const Built built = build_test(context, program, file);
    if (!built.ok) {
        throw CommandError(exit_status::kBuildError, built.error);
    }
    return built;
}

void draw(const WrongOrder& wrong, const ProveArguments& arguments) {
    if (!arguments.svg.empty()) {
        const Drawing drawing = drawing_of(wrong, arguments.name);
        files::write_atomically(arguments.svg, diagrams::svg(drawing.diagram, drawing.messages));
    }
}

void prove(Context& context, ProveArguments arguments) {
    const Manifest manifest = read_manifest(context.root);
    const Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, arguments.name);
    arguments.name = exercise.name;
    expect_simulated_ranks(exercise);
    if (!arguments.svg.empty()) {
        files::check_writable(arguments.svg);
    }
    ensure_model_checker(context);
    const Built built = build_simulated(
        context, exercise,
        arguments.as.empty() ? context.root / exercise.source() : fs::path(arguments.as)
    );
    Claim claim;
    claim.module = built.executable;
    claim.source = built.source;
    claim.ranks = arguments.ranks;
    claim.test = arguments.test;
    claim.most_states = arguments.states;
    claim.time_limit_s = arguments.time_limit_s;
    if (!arguments.replay.empty()) {
        const WrongOrder wrong = replay(context, claim, arguments.replay);
        print_folded(text_of(wrong));
        draw(wrong, arguments);
        context.status = exit_status_of(wrong.test.status);
        return;
    }
    const Proof proof = cli::prove(context, claim);
    if (context.json) {
        fmt::print("{}", json_of(proof, claim, exercise.name));
    } else {
        print_folded(text_of(proof, claim, command_of(arguments)));
    }
    if (proof.wrong) {
        draw(*proof.wrong, arguments);
    }
    context.status = proof.wrong        ? exit_status_of(proof.wrong->test.status)
                     : proof.is_proof() ? exit_status::kDone
                                        : exit_status::kFailed;
}

}  // namespace

void add_prove(Command& app, Context& context) {
    auto command =
        app.add_subcommand("prove", "Try every order of messages, on a few simulated ranks");
    auto arguments = std::make_shared<ProveArguments>();
    command.add_option("NAME", arguments->name, "Exercise; without it, the current one");
    command.add_option("-n,--ranks", arguments->ranks, "Number of ranks")
        .between(2, 6)
        .capture_default_str();
    command.add_option("--as", arguments->as, "Use this file in place of the exercise's own");
    command.add_option("--test", arguments->test, "Try only tests whose name contains this text");
    command
        .add_option(
            "--states", arguments->states,
            "Stop between two trials once they have this many states in all"
        )
        .capture_default_str();
    command.add_option("--time-limit", arguments->time_limit_s, "Stop after this many seconds")
        .capture_default_str();
    command.add_option(
        "--replay", arguments->replay, "Repeat an order that an earlier proof has found"
    );
    command.add_option("--svg", arguments->svg, "Draw the order that goes wrong");
    command.add_flag("--json", context.json, "One JSON document on standard output, nothing else");
    command.footer(
        "A run sees one order of messages. prove tries every possible order: SimGrid's\n"
        "model checker runs each test of the exercise that passes messages, on inputs of\n"
        "7 floats and of 1. No send ends before its receive has begun. prove finds\n"
        "deadlocks, wrong values, exceptions and crashes, and prints the order that led\n"
        "there.\n"
        "It does not check the number of messages, messages that nobody receives or that\n"
        "do not fit, longer inputs, more ranks, communication through shared memory,\n"
        "data that changes while it is sent, and calls that the exercise forbids.\n"
        "Two things are never proved, though prove finds many of their faults: a receive\n"
        "from any rank, because MPI orders only the messages of one sender, and SimGrid\n"
        "those of all; and a loop that asks for a message (MPI_Test, MPI_Iprobe),\n"
        "because it may ask for ever.\n"
        "Exit status: 0 proved; 1 an order is wrong, or there is no proof because the\n"
        "search was cut short (--states, --time-limit); 4 an order hangs.\n"
        "  ./shardlings prove ring_shift -n 4\n"
        "  ./shardlings prove ring_shift -n 3 --as my_shift.cpp --test 'twice in a row'"
    );
    command.callback([&context, arguments] { prove(context, *arguments); });
}

}  // namespace dist::cli
