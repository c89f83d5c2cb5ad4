// The seeds of a grading.
#pragma once

#include <cstdint>
#include <vector>

#include "course/grade/gradebook.hpp"
#include "course/grade/grading.hpp"

namespace dist::cli {

/// Draws seeds and notes them in the book, or reads those of the grading that goes on.
/// Errors  UsageError where the book holds grades and nothing is said of going on, or was begun with other seeds
std::vector<std::uint64_t> seeds_of(const GradingOptions& options, Gradebook& book);

}  // namespace dist::cli
