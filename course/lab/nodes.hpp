// Which ranks share a node, for algorithms that need to know.
#pragma once

#include <fmt/format.h>

#include "course/lab/measured.hpp"
#include "course/lab/options.hpp"

namespace dist::lab {

/// How many ranks a node has: as the user says, or a machine where several have equally many; 0:
/// ranks have no nodes.
///
/// Errors  UsageError if nodes would not be full.
inline int ranks_of_a_node(const Options& options, const Machine& machine) {
    if (options.per_node > 0 && machine.ranks % options.per_node != 0) {
        throw UsageError(fmt::format(
            "--per-node {}: {} ranks are no whole number of such nodes", options.per_node,
            machine.ranks
        ));
    }
    const bool full = machine.ranks_per_node * machine.nodes == machine.ranks;
    return options.per_node > 0        ? options.per_node
           : machine.nodes > 1 && full ? machine.ranks_per_node
                                       : 0;
}

/// Takes away what needs nodes; that is noted where the user names it.
inline void leave_out_nodes(Measured& measured, const Options& options) {
    const auto left_out =
        std::erase_if(measured.algorithms, [](const Algorithm& a) { return a.needs_nodes(); });
    if (left_out > 0 && !options.algorithms.empty()) {
        measured.notes.emplace_back(
            "hierarchical is left out: say with --per-node how many ranks a node has"
        );
    }
}

}  // namespace dist::lab
