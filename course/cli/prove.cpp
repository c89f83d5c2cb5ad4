// prove: every order of messages, or of events.
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
#include "course/prove/walks.hpp"
#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

struct ProveArguments {
    std::string name;
    std::string as;
    int ranks = 3;
    std::string test;
    int states = 3'000'000;
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

/// The file to be proved, in its test or walk.
Built build(
    Context& context,
    const Program& program,
    const Exercise& exercise,
    const ProveArguments& arguments
) {
    const fs::path file =
        arguments.as.empty() ? context.root / exercise.source() : fs::path(arguments.as);
    Built built = build_test(context, program, file);
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

/// Of an exercise that passes messages.
void prove_messages(Context& context, const Exercise& exercise, const ProveArguments& arguments) {
    expect_simulated_ranks(exercise);
    if (!arguments.svg.empty()) {
        files::check_writable(arguments.svg);
    }
    ensure_model_checker(context);
    Program program = program_of(exercise);
    program.simulated_test = true;
    const Built built = build(context, program, exercise, arguments);
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

/// Of an exercise that is a function of states and events.
void prove_events(
    Context& context, const Exercise& exercise, const ProveArguments& arguments, bool has_ranks
) {
    if (has_ranks || !arguments.replay.empty() || !arguments.svg.empty()) {
        throw UsageError(fmt::format(
            "{} is proved by events, not by messages: --ranks, --replay and --svg have no meaning "
            "there",
            exercise.name
        ));
    }
    Program program = program_of(exercise);
    program.walk = true;
    WalkClaim claim;
    claim.program = build(context, program, exercise, arguments).executable;
    claim.exercise = exercise.name;
    claim.walk = arguments.test;
    claim.most_states = arguments.states;
    claim.time_limit_s = arguments.time_limit_s;
    const WalkProof proof = prove_walks(context, claim);
    if (context.json) {
        fmt::print("{}", json_of(proof, exercise.name));
    } else {
        print_folded(text_of(proof));
    }
    context.status = proof.is_proof() ? exit_status::kDone : exit_status::kFailed;
}

void prove(Context& context, ProveArguments arguments, bool has_ranks) {
    const Manifest manifest = read_manifest(context.root);
    const Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, arguments.name);
    arguments.name = exercise.name;
    if (exercise.walk) {
        prove_events(context, exercise, arguments, has_ranks);
    } else {
        prove_messages(context, exercise, arguments);
    }
}

}  // namespace

void add_prove(Command& app, Context& context) {
    auto command = app.add_subcommand(
        "prove", "Try every order of messages, on a few simulated ranks, or of events"
    );
    auto arguments = std::make_shared<ProveArguments>();
    command.add_option("NAME", arguments->name, "Exercise; without it, the current one");
    const Option ranks =
        command.add_option("-n,--ranks", arguments->ranks, "Number of ranks, which pass messages")
            .between(2, 6)
            .capture_default_str();
    command.add_option("--as", arguments->as, "Use this file in place of the exercise's own");
    command.add_option(
        "--test", arguments->test, "Try only tests, or walks, whose name contains this text"
    );
    command
        .add_option(
            "--states", arguments->states,
            "Stop once there are more states than this; of messages, between two trials"
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
        "An exercise that is a function of states and events (walk in\n"
        "exercises/course.toml) needs no SimGrid: prove tries every order of events on a\n"
        "few nodes. One comes, dies or leaves, a compare_set is lost, a message is lost\n"
        "or comes twice: each may be next. Where an invariant breaks, prove names it,\n"
        "with the fewest events that lead there. What may happen how often stands in the\n"
        "names of the walks; nothing is proved of more nodes, or of what they do between\n"
        "two events.\n"
        "Exit status: 0 proved; 1 an order is wrong, or there is no proof because the\n"
        "search was cut short (--states, --time-limit); 4 an order hangs.\n"
        "  ./shardlings prove ring_shift -n 4\n"
        "  ./shardlings prove ring_shift -n 3 --as my_shift.cpp --test 'twice in a row'\n"
        "  ./shardlings prove rendezvous --test 'two nodes'"
    );
    command.callback([&context, arguments, ranks] { prove(context, *arguments, ranks.count() > 0); }
    );
}

}  // namespace dist::cli
