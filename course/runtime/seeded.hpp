// Data that is the same in every run, and different on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dist {

/// `n` whole numbers from 1 to 8 as floats: sums and products over a few ranks are exact, so tests
/// compare with ==.
///
/// seed, rank  the same pair gives the same numbers on every machine; any other pair gives others.
std::vector<float> seeded_data(std::size_t n, int rank, std::uint64_t seed);

/// One number of a sequence that is fixed by its seed (SplitMix64).
///
/// Source  Steele, Lea & Flood (2014), "Fast splittable pseudorandom number generators".
constexpr std::uint64_t seeded_bits(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

}  // namespace dist
