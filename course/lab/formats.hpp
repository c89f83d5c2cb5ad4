// The bench's results as other benchmarks print theirs, for the scripts that read them.
#pragma once

#include <string>
#include <vector>

#include "course/lab/measured.hpp"

namespace dist::lab {

/// The columns of nccl-tests (NVIDIA/nccl-tests, README.md): size, count, type, redop, root, and
/// then time, algbw, busbw and #wrong twice, out of place and in place. A table for each algorithm,
/// whose name stands above it. What was not measured is N/A: all algorithms here work in place.
std::string to_nccl_format(const std::vector<Measured>& measurements);

/// The columns of the OSU Micro-Benchmarks 7 with --full: size, latency in microseconds as mean,
/// minimum and maximum over the ranks, iterations. A table for each algorithm.
std::string to_osu_format(const std::vector<Measured>& measurements);

/// Every timed call, as CSV: a line each.
std::string to_raw(const std::vector<Measured>& measurements);

}  // namespace dist::lab
