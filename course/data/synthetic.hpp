// Pictures for a machine that has none: ten classes that can be told apart, made from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "course/data/cifar10.hpp"

namespace dist::data {

/// `n` records in CIFAR-10's binary format, class i mod 10 at place i.
///
/// A class is a tint and a pattern of three waves a colour, the same in every set; a picture is its
/// class's, shifted, mirrored at random, brighter or darker, under as much noise as pattern.
///
/// seed  the same seed gives the same bytes on every machine.
std::string synthetic_records(std::size_t n, std::uint64_t seed);

/// A training and a test set of synthetic records, of different seeds, read by the reader of real
/// ones.
Dataset synthetic_dataset(std::size_t train_size, std::size_t test_size, std::uint64_t seed);

}  // namespace dist::data
