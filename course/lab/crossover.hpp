// From which size, or number of ranks, on one algorithm is faster than another.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "course/algorithms/crossing.hpp"
#include "course/lab/measured.hpp"

namespace dist::lab {

/// The standard error of a median, from its 95th percentile: 1.2533 sigma / sqrt(n) of a normal distribution.
double error_of_median(const Point& point);

/// Where `b` passes `a`: in bytes, ...
std::optional<Crossover> crossover_of(
    const Measured& measured, const std::string& a, const std::string& b
);

/// ... or in ranks, at one size, over reports of ascending numbers of ranks.
std::optional<Crossover> crossover_of(
    const std::vector<Measured>& measurements,
    std::size_t size_bytes,
    const std::string& a,
    const std::string& b
);

/// "ring passes naive at 41.2 KiB (from 37.0 KiB to 46.3 KiB by the spread of the times; measured at 16 KiB and 64 KiB)", or who
/// is the faster throughout; empty where one of them was not measured at two sizes.
std::string crossover_in_words(
    const Measured& measured, const std::string& a, const std::string& b
);

/// The same in ranks: "ring passes naive at 2.9 ranks (...)".
std::string crossover_in_words(
    const std::vector<Measured>& measurements,
    std::size_t size_bytes,
    const std::string& a,
    const std::string& b
);

}  // namespace dist::lab
