#include "course/cli/simulated_cluster.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "course/algorithms/collective_names.hpp"
#include "course/build/build.hpp"
#include "course/build/setup.hpp"
#include "course/cli/passed_on.hpp"
#include "course/files/atomic_file.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"
#include "course/simulate/simulation.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostRanks = 65536;

}  // namespace

void add_cluster_options(Command& command, ClusterArguments& arguments) {
    command.add_option("--ranks", arguments.ranks, "Numbers of ranks to simulate")
        .capture_default_str();
    command.add_option("--latency", arguments.latency, "Latency from rank to rank")
        .capture_default_str();
    command
        .add_option("--bandwidth", arguments.bandwidth, "Bandwidth of each rank's link, a second")
        .capture_default_str();
    command.add_option("--compute", arguments.compute, "Bytes that a rank adds in a second: 10GB");
    command.add_option(
        "--platform", arguments.platform, "File that describes a cluster, in SimGrid's format"
    );
}

void add_node_options(Command& command, ClusterArguments& arguments) {
    command.add_option(
        "--nodes", arguments.nodes, "Numbers of nodes to simulate, in the place of --ranks"
    );
    command
        .add_option(
            "--per-node", arguments.per_node,
            "Ranks of a node, which has a network of its own inside; --latency and --bandwidth are "
            "those between nodes, where each rank has a link"
        )
        .between(1, kMostRanks);
    command.add_option("--inside-latency", arguments.inside_latency, "Latency inside of a node")
        .capture_default_str();
    command
        .add_option(
            "--inside-bandwidth", arguments.inside_bandwidth,
            "Bandwidth of each rank's link inside of a node, a second"
        )
        .capture_default_str();
}

void expect_used(const Command& command) {
    const std::vector<std::string> given = command.given();
    const auto has = [&](const char* option) {
        return std::ranges::find(given, option) != given.end();
    };
    for (const char* const option :
         {"--latency", "--bandwidth", "--inside-latency", "--inside-bandwidth"}) {
        if (has("--platform") && has(option)) {
            throw UsageError(
                fmt::format("--platform and {} both describe links: give one of them", option)
            );
        }
    }
    for (const char* const option : {"--nodes", "--inside-latency", "--inside-bandwidth"}) {
        if (has(option) && !has("--per-node")) {
            throw UsageError(fmt::format("{} needs --per-node: how many ranks has a node?", option)
            );
        }
    }
    if (has("--ranks") && has("--nodes")) {
        throw UsageError("--ranks and --nodes both say how many ranks there are: give one of them");
    }
}

Cluster cluster_of(const ClusterArguments& arguments) {
    Cluster cluster;
    cluster.latency_s = parse_seconds("--latency", arguments.latency);
    cluster.bytes_per_s = parse_bytes_per_s("--bandwidth", arguments.bandwidth);
    cluster.add_s_per_byte =
        arguments.compute.empty() ? 0 : 1 / parse_bytes_per_s("--compute", arguments.compute);
    if (!arguments.platform.empty()) {
        cluster.platform = fs::absolute(arguments.platform);
        if (!fs::is_regular_file(cluster.platform)) {
            throw UsageError("--platform: there is no file " + arguments.platform);
        }
    }
    cluster.per_node = arguments.per_node;
    cluster.inside_latency_s = parse_seconds("--inside-latency", arguments.inside_latency);
    cluster.inside_bytes_per_s =
        parse_bytes_per_s("--inside-bandwidth", arguments.inside_bandwidth);
    return cluster;
}

std::vector<int> ranks_of(const ClusterArguments& arguments) {
    const int per_node = arguments.per_node;
    if (arguments.nodes.empty()) {
        std::vector<int> ranks = ranks_between_commas(arguments.ranks, 2, kMostRanks);
        for (const int p : ranks) {
            if (per_node > 0 && p % per_node != 0) {
                throw UsageError(fmt::format(
                    "--ranks {}: that is no whole number of nodes of {}; give --nodes instead", p,
                    per_node
                ));
            }
        }
        return ranks;
    }
    std::vector<int> ranks =
        ranks_between_commas(arguments.nodes, 1, kMostRanks / per_node, "nodes");
    for (int& p : ranks) {
        p *= per_node;
    }
    if (ranks.front() < 2) {
        throw UsageError("--nodes 1 --per-node 1: one rank has nobody to talk to");
    }
    return ranks;
}

void expect_simulated_ranks(const Exercise& exercise) {
    if (!exercise.simulated()) {
        throw UsageError(fmt::format(
            "{} cannot run on simulated ranks: SimGrid has an MPI of its own, without LibTorch, "
            "CUDA "
            "and sockets",
            exercise.name
        ));
    }
}

void expect_collective(const Exercise& exercise) {
    expect_simulated_ranks(exercise);
    if (std::ranges::find(lab::kCollectiveExercises, exercise.name) ==
        lab::kCollectiveExercises.end()) {
        throw UsageError(fmt::format(
            "{} is no collective by itself that passes messages; these are: {}", exercise.name,
            fmt::join(lab::kCollectiveExercises, ", ")
        ));
    }
}

fs::path build_mine(Context& context, const std::string& exercise, const std::string& as) {
    const Manifest manifest = read_manifest(context.root);
    Program program = program_of(manifest.find(exercise));
    program.simulated = true;
    const Built built =
        build_test(context, program, as.empty() ? context.root / program.source : fs::path(as));
    if (!built.ok) {
        throw CommandError(exit_status::kBuildError, built.error);
    }
    return built.executable;
}

fs::path build_references(Context& context) {
    fs::path module = references_of(context);
    build_with_notice(context, "simulated", module, "Building the stack for SimGrid");
    return module;
}

void check_outputs(
    const Context& context, const std::string& csv, const std::string& svg, const std::string& html
) {
    for (const std::string& file : {csv, svg, html}) {
        if (!file.empty()) {
            files::check_writable(file);
        }
    }
    if (!svg.empty()) {
        install(context, "plot");
    }
}

}  // namespace dist::cli
