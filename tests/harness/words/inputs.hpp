// What ranks put into a collective, and what has to come out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "course/runtime/reduce_op.hpp"

namespace dist::harness {

/// The seed of this run: the same on every rank.
std::uint64_t seed();

/// Which values a rank contributes: a maximum that starts from 0 is right where all are positive, a
/// minimum that starts from 1000 where all are small, and a sum in another order where all are whole.
enum class Values {
    mixed,     // whole numbers from -8 to 8, but 0, 5 and 7
    positive,  // 1e20 to 8e20
    negative,  // -8e20 to -1e20
    order_matters,  // 2^24 from rank i mod p at index i, to which others' 1 adds nothing; from index p on
                    // others' are between 1 and 2: ones, added in pairs, are as much in any order
};

/// `n` seeded whole numbers in float for this rank; exact under sum, mean and product of 15 ranks.
/// `salt` makes a second, different input.
std::vector<float> input(
    std::size_t n, int rank, std::uint64_t salt = 0, Values values = Values::mixed
);

/// What rank `rank` of p contributes where the order of addition shows: Values::order_matters.
std::vector<float> order_matters(std::size_t n, int rank, int p);

/// The reduction of input(n, 0..p-1, salt): what an all-reduce must give. Made in double precision.
std::vector<float> reduced_input(
    std::size_t n, int p, ReduceOp op, std::uint64_t salt = 0, Values values = Values::mixed
);

/// `n` values that no right answer contains; outputs are filled with them beforehand.
std::vector<float> poison(std::size_t n);

/// The lengths that every collective has to do: 7 first, which tells most, then around every edge of
/// "p chunks": nothing, less than one element a rank, even, uneven, one that is drawn by the seed, so that no
/// answer can know it, and one whose chunks have more bytes than 16 bits can count.
std::vector<std::size_t> lengths(int p);

/// How far a reduction of input() over p ranks may lie from reduced_input(), as same() takes it: whole
/// numbers are exact. The mean is not: divided first, p numbers of at most 8 are rounded, and again
/// when they are added, by 2^-24 of 8 each time.
double tolerance(ReduceOp op, int p);

}  // namespace dist::harness
