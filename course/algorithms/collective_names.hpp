// The collectives by name, for programs that are not linked with what does them.
#pragma once

#include <array>
#include <string_view>

namespace dist::lab {

/// In the order of registry.cpp.
inline constexpr std::array<std::string_view, 9> kCollectiveNames = {
    "all_reduce", "broadcast",      "reduce",     "scatter", "gather",
    "all_gather", "reduce_scatter", "all_to_all", "barrier"};

}  // namespace dist::lab
