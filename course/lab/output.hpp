// Files that are there whole or not at all.
#pragma once

#include <string>

#include "course/lab/report.hpp"

namespace dist::lab {

/// Refuses a file that cannot be written. Leaves nothing behind.
///
/// Errors  UsageError.
void check_writable(const std::string& path);

/// Refuses to go on without gnuplot.
///
/// Errors  UsageError, naming the package.
void check_gnuplot();

/// Writes `text` to a temporary file beside `path`, then renames it. A device or a pipe is written as it is.
///
/// Errors  std::runtime_error.
void write_file(const std::string& path, const std::string& text);

/// Draws time against size, both logarithmic: a line for each algorithm, the lower bound dashed.
///
/// Errors  std::runtime_error.
void write_svg(const std::string& path, const Report& report);

}  // namespace dist::lab
