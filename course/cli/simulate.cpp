// simulate: algorithms on clusters that nobody has at home.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/algorithms/collective_names.hpp"
#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/cli/simulate_paper.hpp"
#include "course/cli/simulate_train.hpp"
#include "course/cli/simulated_cluster.hpp"
#include "course/cli/tested_answer.hpp"
#include "course/files/atomic_file.hpp"
#include "course/manifest/manifest.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"
#include "course/process/screen.hpp"
#include "course/report/fold.hpp"
#include "course/simulate/simulated_text.hpp"
#include "course/simulate/simulation.hpp"

namespace dist::cli {
namespace {

struct SimulateArguments {
    std::string name;
    std::string as;
    std::string sizes = "1K,64K,1M,16M";
    ClusterArguments cluster;
    std::string algorithms;
    std::string peers = "ompi";
    bool by_formula = false;
    std::string paper;
    std::string csv;
    std::string svg;
    std::string html;
};

std::vector<std::size_t> sizes_of(const std::string& text) {
    std::set<std::size_t> sizes;
    for (const std::string& word : between_commas(text)) {
        sizes.insert(parse_bytes("--sizes", word));
    }
    if (sizes.empty()) {
        throw UsageError("--sizes names none");
    }
    return {sizes.begin(), sizes.end()};
}

/// The exercise whose code is the row `mine`: NAME, unless it is a collective and nothing is to take its exercise's place;
/// for `mine` among the algorithms of all_reduce the one that the bench shows, too.
std::string exercise_to_simulate(
    const SimulateArguments& arguments, bool names_mine, const Manifest& manifest
) {
    const bool is_collective =
        std::ranges::find(lab::kCollectiveNames, arguments.name) != lab::kCollectiveNames.end();
    if (is_collective && arguments.as.empty()) {
        return !names_mine                      ? ""
               : arguments.name == "all_reduce" ? "ring_all_reduce"
                                                : arguments.name;
    }
    return manifest.find(arguments.name).name;
}

/// What is to be simulated, but for what is built first.
Simulation read_arguments(
    const Context& context, const SimulateArguments& arguments, bool peers_named
) {
    Simulation wanted;
    wanted.cluster = cluster_of(arguments.cluster);
    wanted.ranks = ranks_of(arguments.cluster);
    wanted.sizes_bytes = sizes_of(arguments.sizes);
    wanted.algorithms = between_commas(arguments.algorithms);
    wanted.peers = between_commas(arguments.peers);
    wanted.by_formula = arguments.by_formula;
    const bool names_mine = std::erase(wanted.algorithms, "mine") > 0;
    // what the user names is all that there is to be; mpi stands for the peers
    if (!arguments.algorithms.empty() && std::erase(wanted.algorithms, "mpi") == 0 &&
        !peers_named) {
        wanted.peers.clear();
    }
    wanted.ours = arguments.algorithms.empty() || !wanted.algorithms.empty();
    wanted.mine = exercise_to_simulate(arguments, names_mine, read_manifest(context.root));
    wanted.collective = wanted.mine.empty() ? arguments.name : "";
    if (wanted.collective == "barrier") {
        wanted.sizes_bytes = {sizeof(float)};  // it moves none
    }
    return wanted;
}

/// Before anything is built.
void expect_possible(const Context& context, const Simulation& wanted) {
    if (!wanted.mine.empty()) {
        expect_collective(read_manifest(context.root).find(wanted.mine));
    }
    if (wanted.by_formula && (!wanted.mine.empty() || !wanted.ours)) {
        throw UsageError("--formula: only the course's own algorithms have one");
    }
    if (wanted.by_formula && !wanted.cluster.platform.empty()) {
        throw UsageError("--formula needs --latency and --bandwidth: leave --platform out");
    }
    expect_held(context, wanted);
}

void simulate(Context& context, const SimulateArguments& arguments, bool peers_named) {
    if (arguments.name.empty()) {
        throw UsageError(fmt::format(
            "simulate what? A collective ({}), an exercise, train, or --paper list",
            fmt::join(lab::kCollectiveNames, ", ")
        ));
    }
    Simulation wanted = read_arguments(context, arguments, peers_named);
    expect_possible(context, wanted);
    if (wanted.by_formula && peers_named) {
        throw UsageError("--peers are run, and --formula runs nothing: give one of them");
    }
    check_outputs(context, arguments.csv, arguments.svg, arguments.html);
    ensure_simgrid(context);
    std::string refused;
    if (!wanted.mine.empty()) {
        refused =
            refusal_by_test(context, read_manifest(context.root).find(wanted.mine), arguments.as);
        wanted.mine_module = build_mine(context, wanted.mine, arguments.as);
    }
    wanted.references = build_references(context);
    Simulated simulated = cli::simulate(context, wanted);
    simulated.refused = refused;
    if (context.json) {
        fmt::print("{}", json_of(simulated, wanted.cluster));
    } else {
        print_folded(table_of(simulated, wanted.cluster, columns_of(STDOUT_FILENO)));
    }
    if (!arguments.csv.empty()) {
        files::write_atomically(arguments.csv, csv_of(simulated));
    }
    if (!arguments.html.empty()) {
        files::write_atomically(arguments.html, page_of(simulated, wanted.cluster));
    }
    if (!arguments.svg.empty()) {
        plots::draw(arguments.svg, picture_of(simulated, wanted.cluster));
    }
    const bool wrong =
        std::ranges::any_of(simulated.times, [](const auto& time) { return time.wrong > 0; });
    context.status = wrong || !refused.empty() ? exit_status::kFailed : exit_status::kDone;
}

void add_outputs(Command& command, SimulateArguments& arguments, Context& context) {
    command.add_flag("--json", context.json, "One JSON document on standard output, nothing else");
    command.add_option("--csv", arguments.csv, "Write the times as CSV");
    command.add_option("--svg", arguments.svg, "Draw times against ranks, and against sizes");
    command.add_option(
        "--html", arguments.html,
        "Write a page for a browser: curves to point at, algorithms to switch on and off"
    );
}

constexpr const char* kSimulateHelp =
    "The same source runs on SimGrid's MPI. A simulated clock counts the time of\n"
    "messages. formula: latency + bytes / bandwidth, for each message that has to\n"
    "wait for another. simulate says which algorithm is fastest from which size. The\n"
    "test of an exercise runs first: a wrong answer is named, and is never the\n"
    "fastest.\n"
    "  ./shardlings simulate all_reduce --ranks 4,64,1024 --sizes 1K,1M\n"
    "  ./shardlings simulate ring_all_reduce --as my_ring.cpp --bandwidth 100Gbit\n"
    "With --per-node ranks have nodes. Then crossing is what all ranks send to other\n"
    "nodes, GB/s the bytes that the busiest rank must send, over the time, and formula\n"
    "is there for ring and hierarchical.\n"
    "  ./shardlings simulate all_reduce --nodes 2,16 --per-node 8\n"
    "  ./shardlings simulate --paper playbook\n"
    "simulate train predicts a training step from such times: simulate train --help";

}  // namespace

void add_simulate(Command& app, Context& context) {
    auto command = app.add_subcommand(
        "simulate", "Run your code on a simulated cluster of up to thousands of ranks"
    );
    auto arguments = std::make_shared<SimulateArguments>();
    command.add_option(
        "NAME", arguments->name,
        fmt::format(
            "A collective: {}; or an exercise: its file becomes the row mine",
            fmt::join(lab::kCollectiveNames, ", ")
        )
    );
    command.add_option("--as", arguments->as, "Use this file in place of the exercise's own");
    command.add_option("--sizes", arguments->sizes, "Bytes, with K, M or G").capture_default_str();
    add_cluster_options(command, arguments->cluster);
    add_node_options(command, arguments->cluster);
    command.add_option(
        "--algorithms", arguments->algorithms, "Only these: naive,ring,tree,auto,mine,mpi,..."
    );
    Option peers = command.add_option(
        "--peers", arguments->peers,
        "Compare with what MPI libraries choose: ompi,mpich,mvapich2,impi; or with one of SMPI's "
        "algorithms, such as lr"
    );
    peers.capture_default_str();
    command.add_flag(
        "--formula", arguments->by_formula,
        "Only calculate what the formulas give, for any number of ranks"
    );
    command.add_option(
        "--paper", arguments->paper,
        "Show what others have published beside these formulas; --paper list names all"
    );
    add_outputs(command, *arguments, context);
    command.footer(kSimulateHelp);
    const Command train = add_simulate_train(command, context);
    command.callback([&context, arguments, command, peers, train] {
        if (train.parsed()) {
            return;
        }
        if (arguments->paper.empty()) {
            expect_used(command);
            simulate(context, *arguments, peers.count() > 0);
        } else {
            expect_paper_alone(command);
            simulate_paper(context, arguments->paper, arguments->csv);
        }
    });
}

}  // namespace dist::cli
