// The picture of a report, by gnuplot.
#pragma once

#include <string>

#include "course/lab/report.hpp"

namespace dist::lab {

/// Refuses to go on without gnuplot.
///
/// Errors  UsageError, naming the package.
void check_gnuplot();

/// Draws the report as SVG: whole or not at all.
///
/// Errors  std::runtime_error.
void write_svg(const std::string& path, const Report& report);

}  // namespace dist::lab
