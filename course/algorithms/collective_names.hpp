// The collectives by name, for programs that are not linked with what does them.
#pragma once

#include <array>
#include <string_view>

namespace dist::lab {

/// In the order of registry.cpp.
inline constexpr std::array<std::string_view, 9> kCollectiveNames = {
    "all_reduce", "broadcast",      "reduce",     "scatter", "gather",
    "all_gather", "reduce_scatter", "all_to_all", "barrier"};

/// Exercises that are a collective by themselves and pass messages, in the same order.
inline constexpr std::array<std::string_view, 19> kCollectiveExercises = {
    "all_reduce",
    "ring_all_reduce",
    "recursive_doubling",
    "halving_doubling",
    "hierarchical_all_reduce",
    "broadcast",
    "ring_broadcast",
    "tree_broadcast",
    "reduce",
    "ring_reduce",
    "tree_reduce",
    "scatter",
    "gather",
    "all_gather",
    "ring_all_gather",
    "reduce_scatter",
    "ring_reduce_scatter",
    "all_to_all",
    "barrier"};

/// Those of them whose ranks must be on nodes.
inline constexpr std::array<std::string_view, 1> kExercisesOnNodes = {"hierarchical_all_reduce"};

}  // namespace dist::lab
