// What each collective leaves on a rank, when each rank's input is seeded_data(n, rank, seed).
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace dist::lab {

/// An element that is of no use to anyone: whatever it holds is right.
inline constexpr float kAnything = std::numeric_limits<float>::quiet_NaN();

/// How many elements are not as expected; NaN where something is expected is none of them.
long count_wrong(std::span<const float> data, std::span<const float> expected);

// Each fills `out`, n elements, for rank r of p. The root is rank 0.
void expect_sum(std::span<float> out, int p, int r, std::uint64_t seed);
void expect_sum_on_root(std::span<float> out, int p, int r, std::uint64_t seed);
void expect_chunk_of_sum(std::span<float> out, int p, int r, std::uint64_t seed);
void expect_roots_data(std::span<float> out, int p, int r, std::uint64_t seed);
void expect_chunk_of_root(std::span<float> out, int p, int r, std::uint64_t seed);
void expect_all_chunks(std::span<float> out, int p, int r, std::uint64_t seed);
void expect_all_chunks_on_root(std::span<float> out, int p, int r, std::uint64_t seed);
void expect_blocks(std::span<float> out, int p, int r, std::uint64_t seed);
void expect_nothing(std::span<float> out, int p, int r, std::uint64_t seed);

}  // namespace dist::lab
