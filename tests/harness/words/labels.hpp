// Inputs whose elements tell where they come from: for collectives that move data and leave it as
// it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// Elements [begin, end) of rank `rank`'s input to call number `salt`: exact in float for 16 ranks and
/// three calls, 0 to 2, of 330'000 elements each.
std::vector<float> labels(std::size_t begin, std::size_t end, int rank, std::uint64_t salt);

/// The whole input of `rank`: n elements.
std::vector<float> labels(std::size_t n, int rank, std::uint64_t salt = 0);

/// "element 3 of rank 2's in".
std::string label_text(float value);

/// same(), with the place that a wrong value comes from, and the one that was wanted.
Comparison same_labels(std::span<const float> got, std::span<const float> expected);

/// Checks that the call wrote nothing into `out`: it still holds its poison().
Comparison untouched(std::span<const float> out, const std::string& why);

}  // namespace dist::harness
