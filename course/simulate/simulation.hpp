// Collectives on simulated clusters of several sizes, one after the other.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "course/process/context.hpp"
#include "course/simulate/cluster.hpp"
#include "course/simulate/ranks/order.hpp"

namespace dist::cli {

/// What is to be simulated.
struct Simulation {
    std::string collective;                // empty: that of `mine`
    bool ours = true;                      // also algorithms of the course
    std::vector<std::string> algorithms;   // which; empty: all
    std::vector<std::string> peers;        // SMPI's: "ompi", "mpich", ..., or one of its algorithms
    std::string mine;                      // an exercise
    std::filesystem::path references;      // modules: see course/simulate/ranks/CMakeLists.txt
    std::filesystem::path mine_module;     // empty: no row `mine`
    bool by_formula = false;               // nothing runs: the times are what the formulas give
    std::vector<int> ranks;                // ascending
    std::vector<std::size_t> sizes_bytes;  // ascending
    Cluster cluster;
};

struct Simulated {
    std::string collective;
    std::vector<simulation::Timed> times;
    std::set<std::string> peers;     // which algorithms are not the course's
    std::vector<std::string> notes;  // what else a reader should know
    bool by_formula = false;         // `seconds` are the formulas'
    std::string refused;             // why its own test refuses `mine`; empty: it does not
};

/// Whether the row may be called the fastest: neither its values nor its test speak against it.
bool may_win(const Simulated& simulated, const simulation::Timed& time);

/// Where the module of the course's algorithms is, once it is built.
std::filesystem::path references_of(const Context& context);

/// To be asked before anything is built.
/// Errors  UsageError if this machine does not hold so many ranks, saying why and what it does hold
void expect_held(const Context& context, const Simulation& wanted);

/// Shows how far it is.
/// Errors  CommandError where the simulated program ends with an error, or in a deadlock; UsageError for a name that it does
///         not know; Interrupted
Simulated simulate(Context& context, const Simulation& wanted);

}  // namespace dist::cli
