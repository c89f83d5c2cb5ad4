// The options of simulate and of simulate train that describe clusters.
#pragma once

#include <string>
#include <vector>

#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"
#include "course/simulate/cluster.hpp"

namespace dist::cli {

struct ClusterArguments {
    std::string ranks = "4,16,64";
    std::string latency = "2us";
    std::string bandwidth = "10Gbit";
    std::string compute = {};
    std::string platform = {};
    std::string nodes = {};  // empty: as many as --ranks has
    int per_node = 0;        // 0: ranks have no nodes
    std::string inside_latency = "500ns";
    std::string inside_bandwidth = "100Gbit";
};

/// `arguments` live as long as the command.
void add_cluster_options(Command& command, ClusterArguments& arguments);

/// What describes nodes with a network of their own.
void add_node_options(Command& command, ClusterArguments& arguments);

/// Errors  UsageError for an option of these that another one, or the lack of one, makes useless
void expect_used(const Command& command);

/// Errors  UsageError
Cluster cluster_of(const ClusterArguments& arguments);

/// Ascending.
/// Errors  UsageError
std::vector<int> ranks_of(const ClusterArguments& arguments);

/// Errors  UsageError for one that needs more than MPI
void expect_simulated_ranks(const Exercise& exercise);

/// Errors  UsageError for one that is none of course/algorithms/collective_names.hpp, naming those
void expect_collective(const Exercise& exercise);

/// The module of an exercise's file for the simulator: `as`, or its own where that is empty.
/// Errors  CommandError if it does not build
std::filesystem::path build_mine(
    Context& context, const std::string& exercise, const std::string& as
);

/// The module of the references.
/// Errors  CommandError
std::filesystem::path build_references(Context& context);

/// What would be noticed only after a long simulation: files that cannot be written, and gnuplot where one is a picture.
void check_outputs(
    const Context& context,
    const std::string& csv,
    const std::string& svg,
    const std::string& html = ""
);

}  // namespace dist::cli
