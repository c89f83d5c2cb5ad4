// A report that tests of the bench look at.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/lab/measured.hpp"

inline dist::lab::Point point(
    const std::string& algorithm, std::size_t size_bytes, double median_s
) {
    return {
        .algorithm = algorithm,
        .chose = {},
        .size_bytes = size_bytes,
        .between = false,
        .min_s = median_s * 0.9,
        .median_s = median_s,
        .p95_s = median_s * 1.1,
        .clean = 9,
        .run = 10,
        .wrong = 0,
        .unsettled = {},
        .vs_naive = {},
        .vs_mpi = {}};
}

/// A ratio, and 5 % on both sides.
inline dist::lab::Interval about(double ratio) {
    return {ratio, ratio * 0.95, ratio * 1.05};
}

/// Two sizes, naive 4 times and mpi 2 times as slow as ring; ring: t = 1 us + S / (1 GB/s).
inline dist::lab::Measured example() {
    using namespace dist::lab;
    const Collective& collective = find_collective("all_reduce");
    Measured measured{
        .collective = collective,
        .algorithms = find_algorithms(collective, {"naive", "ring", "mpi"}),
        .machine = {},
        .seed = 7,
        .notes = {"mine is left out: a reason"},
        .bound = {},
        .choices = {},
        .points = {},
        .raw = {}};
    measured.machine.ranks = 4;
    measured.bound = {.p = 4, .received = 1.5, .hop_s = 1e-6, .pass_bytes_per_s = {{262144, 3e9}}};
    for (const std::size_t size_bytes : {1024U, 1048576U}) {
        const double ring_s = 1e-6 + static_cast<double>(size_bytes) / 1e9;
        for (const auto& [name, times] : {std::pair{"naive", 4.0}, {"ring", 1.0}, {"mpi", 2.0}}) {
            measured.points.push_back(point(name, size_bytes, times * ring_s));
            measured.points.back().vs_naive = about(4 / times);
            measured.points.back().vs_mpi = about(2 / times);
        }
    }
    return measured;
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}
