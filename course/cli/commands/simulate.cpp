// simulate: algorithms on clusters that nobody has at home.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "course/cli/build/build.hpp"
#include "course/cli/build/setup.hpp"
#include "course/cli/commands/command.hpp"
#include "course/cli/commands/passed_on.hpp"
#include "course/cli/exercises/manifest.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/words.hpp"
#include "course/cli/simulate/simulated_text.hpp"
#include "course/cli/simulate/simulation.hpp"
#include "course/files/atomic_file.hpp"
#include "course/plots/gnuplot.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostRanks = 65536;

struct SimulateArguments {
    std::string name;
    std::string as;
    std::string ranks = "4,16,64";
    std::string sizes = "1K,64K,1M,16M";
    std::string latency = "2us";
    std::string bandwidth = "10Gbit";
    std::string compute;
    std::string platform;
    std::string algorithms;
    std::string peers = "ompi";
    std::string csv;
    std::string svg;
};

std::vector<std::size_t> sizes_of(const std::string& text) {
    std::set<std::size_t> sizes;
    for (const std::string& word : between_commas(text)) {
        sizes.insert(parse_bytes(word));
    }
    if (sizes.empty()) {
        throw UsageError("--sizes names none");
    }
    return {sizes.begin(), sizes.end()};
}

Cluster cluster_of(const SimulateArguments& arguments) {
    Cluster cluster;
    cluster.latency_s = parse_seconds(arguments.latency);
    cluster.bytes_per_s = parse_bytes_per_s(arguments.bandwidth);
    cluster.add_s_per_byte =
        arguments.compute.empty() ? 0 : 1 / parse_bytes_per_s(arguments.compute);
    if (!arguments.platform.empty()) {
        cluster.platform = fs::absolute(arguments.platform);
        if (!fs::is_regular_file(cluster.platform)) {
            throw UsageError("--platform: there is no file " + arguments.platform);
        }
    }
    return cluster;
}

/// What would be noticed only after a long simulation.
void check_outputs(const Context& context, const SimulateArguments& arguments) {
    for (const std::string& file : {arguments.csv, arguments.svg}) {
        if (!file.empty()) {
            files::check_writable(file);
        }
    }
    if (!arguments.svg.empty()) {
        install(context, "plot");
    }
}

/// The exercise whose code is the row `mine`: NAME, unless it is a collective and nothing is to take its exercise's place;
/// for `mine` among the algorithms of all_reduce the one that the bench shows, too.
std::string exercise_of(
    const SimulateArguments& arguments, bool names_mine, const Manifest& manifest
) {
    static const std::set<std::string> kCollectives = {"all_reduce",     "broadcast",  "reduce",
                                                       "scatter",        "gather",     "all_gather",
                                                       "reduce_scatter", "all_to_all", "barrier"};
    if (kCollectives.contains(arguments.name) && arguments.as.empty()) {
        return !names_mine                      ? ""
               : arguments.name == "all_reduce" ? "ring_all_reduce"
                                                : arguments.name;
    }
    return manifest.find(arguments.name).name;
}

void simulate(Context& context, const SimulateArguments& arguments, bool peers_named) {
    Simulation wanted;
    wanted.cluster = cluster_of(arguments);
    wanted.ranks = ranks_between_commas(arguments.ranks, 2, kMostRanks);
    wanted.sizes_bytes = sizes_of(arguments.sizes);
    wanted.algorithms = between_commas(arguments.algorithms);
    wanted.peers = between_commas(arguments.peers);
    const bool names_mine = std::erase(wanted.algorithms, "mine") > 0;
    // what the user names is all that there is to be; mpi stands for the peers
    if (!wanted.algorithms.empty() && std::erase(wanted.algorithms, "mpi") == 0 && !peers_named) {
        wanted.peers.clear();
    }
    wanted.ours = arguments.algorithms.empty() || !wanted.algorithms.empty();
    wanted.mine = exercise_of(arguments, names_mine, read_manifest(context.root));
    wanted.collective = wanted.mine.empty() ? arguments.name : "";
    check_outputs(context, arguments);
    ensure_simgrid(context);
    if (!wanted.mine.empty()) {
        Program program = program_of(read_manifest(context.root).find(wanted.mine));
        program.simulated = true;
        const fs::path file =
            arguments.as.empty() ? context.root / program.source : fs::path(arguments.as);
        const Built built = build_test(context, program, file);
        if (!built.ok) {
            throw CommandError(exit_status::kBuildError, built.error);
        }
        wanted.mine_module = built.executable;
    }
    wanted.references = context.build_folder() / "simulated" / "simulated.so";
    build_with_notice(context, "simulated", wanted.references, "Building the stack for SimGrid");
    const Simulated simulated = cli::simulate(context, wanted);
    fmt::print(
        "{}",
        context.json ? json_of(simulated, wanted.cluster) : table_of(simulated, wanted.cluster)
    );
    if (!arguments.csv.empty()) {
        files::write_atomically(arguments.csv, csv_of(simulated));
    }
    if (!arguments.svg.empty()) {
        plots::draw(arguments.svg, picture_of(simulated, wanted.cluster));
    }
    const bool wrong =
        std::ranges::any_of(simulated.times, [](const auto& time) { return time.wrong > 0; });
    context.status = wrong ? exit_status::kFailed : exit_status::kDone;
}

}  // namespace

void add_simulate(Command& app, Context& context) {
    auto command = app.add_subcommand("simulate", "Your code on a thousand ranks, simulated");
    auto arguments = std::make_shared<SimulateArguments>();
    command
        .add_option(
            "NAME", arguments->name,
            "A collective: all_reduce, broadcast, reduce, scatter, gather, all_gather, "
            "reduce_scatter, all_to_all, barrier; or an exercise, whose file is the row mine"
        )
        .required();
    command.add_option("--as", arguments->as, "File in the place of the exercise's");
    command.add_option("--ranks", arguments->ranks, "Sizes of the cluster").capture_default_str();
    command.add_option("--sizes", arguments->sizes, "Bytes; K, M, G").capture_default_str();
    command.add_option("--latency", arguments->latency, "From rank to rank").capture_default_str();
    command.add_option("--bandwidth", arguments->bandwidth, "Of each rank's link, a second")
        .capture_default_str();
    command.add_option("--compute", arguments->compute, "Bytes that a rank adds in a second: 10GB");
    command.add_option("--platform", arguments->platform, "SimGrid's own description of a cluster");
    command.add_option("--algorithms", arguments->algorithms, "naive,ring,tree,auto,mine,mpi,...");
    Option peers = command.add_option(
        "--peers", arguments->peers,
        "What MPI libraries choose: ompi,mpich,mvapich2,impi; or one of SMPI's algorithms, such as "
        "lr"
    );
    peers.capture_default_str();
    command.add_flag("--json", context.json, "One JSON document on standard output, nothing else");
    command.add_option("--csv", arguments->csv, "Write the times as CSV");
    command.add_option("--svg", arguments->svg, "Draw time over ranks, and over sizes");
    command.footer(
        "The same source runs on SimGrid's MPI, where a clock counts what messages take on the "
        "cluster.\n"
        "formula: latency + bytes / bandwidth for each message that has to wait for another.\n"
        "  ./shardlings simulate all_reduce --ranks 4,64,1024 --sizes 1K,1M\n"
        "  ./shardlings simulate ring_all_reduce --as my_ring.cpp --bandwidth 100Gbit"
    );
    command.callback([&context, arguments, peers] {
        simulate(context, *arguments, peers.count() > 0);
    });
}

}  // namespace dist::cli
