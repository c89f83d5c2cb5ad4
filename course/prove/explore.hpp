// One run of SimGrid's model checker.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "course/process/context.hpp"
#include "course/simulate/ranks/test_order.hpp"

namespace dist::cli {

struct Exploration {
    enum class End { right, hangs, wrong, crashes, cut_short };
    End end = End::cut_short;
    std::string path;  // the order in which it goes wrong
    std::string why;   // it is no proof
    long states = 0;
    double seconds = 0;
};

struct Bounds {
    long states = 0;
    double seconds = 0;
};

/// Tries every order of messages of one trial, until one goes wrong or `bounds` are reached.
///
/// progress  told how many states are known.
/// Errors    CommandError where the checker ends without a verdict; Interrupted
Exploration explore(
    Context& context,
    const std::filesystem::path& module,
    int ranks,
    const simulation::TestOrder& order,
    const Bounds& bounds,
    const std::function<void(long states)>& progress
);

/// Reads how the exploration ended from what simgrid-mc printed.
Exploration read_exploration(const std::string& output, int status);

/// Whether the program asks for messages without waiting (MPI_Test). SimGrid's reductions then leave out too many
/// orders: all have to be tried.
bool needs_all_orders(const std::string& output);

}  // namespace dist::cli
