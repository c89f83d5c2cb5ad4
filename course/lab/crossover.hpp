// From which size on one algorithm of a report is faster than another.
#pragma once

#include <optional>
#include <string>

#include "course/lab/crossing.hpp"
#include "course/lab/report.hpp"

namespace dist::lab {

/// The standard error of a median, from its 95th percentile: 1.2533 sigma / sqrt(n) of a normal distribution.
double error_of_median(const Point& point);

/// "ring passes naive at 41.2 KiB (37.0 to 46.3; between 16 KiB and 64 KiB, which were tried)", or who is the faster
/// throughout; empty where one of them was not measured.
std::string crossover_in_words(const Report& report, const std::string& a, const std::string& b);

/// The same of a report, in bytes.
std::optional<Crossover> crossover_of(
    const Report& report, const std::string& a, const std::string& b
);

}  // namespace dist::lab
