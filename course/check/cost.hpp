// What an exercise costs its author.
#pragma once

#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Lines of each exercise by part, and the average.
void print_cost(const Context& context, const std::vector<const Exercise*>& exercises);

}  // namespace dist::cli
