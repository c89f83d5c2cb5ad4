// Exercise 03: how long an all-reduce takes, from three numbers about the machine.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "course/runtime/error.hpp"

namespace dist {

/// A message of K bytes takes alpha_s + K * beta_s_per_byte seconds. Adding up K bytes that have
/// arrived takes K * gamma_s_per_byte seconds. Every rank has a link of its own, and can send and
/// receive at the same time.
struct LinkCost {
    double alpha_s = 0.0;           // to start a message
    double beta_s_per_byte = 0.0;   // >= 0; 10 GB/s are 1e-10
    double gamma_s_per_byte = 0.0;  // >= 0; 0 leaves the additions out
};

/// The all-reduces of this course: chapter 02's, and three of this chapter.
enum class AllReduceAlgorithm { naive, ring, recursive_doubling, halving_doubling };

/// How long a message of so many bytes took.
struct Measurement {
    std::size_t bytes = 0;
    double seconds = 0.0;  // > 0
};

/// The time of an all-reduce in the model: of all that happens one after another.
///
/// With alpha, beta and gamma (a, b, c), K bytes, and q, the largest power of two that is at most p:
///
///     naive                    2(p-1) a      +  2(p-1) K b          +  (p-1) K c
///     ring                     2(p-1) a      +  2(p-1)/p K b        +  (p-1)/p K c
///     recursive_doubling
///         p a power of two     log2(p) a     +  log2(p) K b         +  log2(p) K c
///         otherwise        (log2(q) + 2) a   +  (log2(q) + 2) K b   +  (log2(q) + 1) K c
///     halving_doubling
///         p a power of two    2 log2(p) a    +  2(p-1)/p K b        +  (p-1)/p K c
///         otherwise       (2 log2(q) + 2) a  +  (2(q-1)/q + 2) K b  +  ((q-1)/q + 1) K c
///
/// The two at the end cannot use more than q ranks: the others hand their data to one of these
/// first, which adds it, and get the result from it at the end. That is 2a + 2Kb + Kc more.
///
/// bytes    K, of the whole tensor; K/p is not rounded.
/// p        how many ranks, >= 1. One rank needs no message: 0 seconds.
/// returns  seconds.
///
/// Errors  std::invalid_argument if p < 1.
/// Source  Thakur, Rabenseifner & Gropp (2005), "Optimization of collective communication
///         operations in MPICH"; the model is Hockney's (1994).
double predicted_s(AllReduceAlgorithm algorithm, std::size_t bytes, int p, LinkCost link);

/// The line alpha + beta * bytes that is nearest to the points, by least squares of the relative
/// errors: the sum of ((alpha + beta * bytes - seconds) / seconds)^2 is as small as it can be. So
/// an error of 10 % counts the same at 1 KB and at 100 MB.
///
/// points   in any order; sizes may repeat.
/// returns  alpha and beta; gamma is 0, since no message tells it.
///
/// Cost    a few operations for each point.
/// Errors  std::invalid_argument if there are fewer than two different sizes, or if a time is not
///         above 0.
LinkCost fit(std::span<const Measurement> points);

/// The size from which on `b` is not slower than `a`: the smallest number of bytes such that for it
/// and every larger one predicted_s(b) <= predicted_s(a). Nothing if there is none.
///
/// p        how many ranks, >= 1.
/// returns  0 if b is never slower; std::nullopt if it is slower for all large sizes.
///
/// Cost    a few operations: no loop over sizes.
/// Errors  std::invalid_argument if p < 1.
std::optional<std::size_t> crossover_bytes(
    AllReduceAlgorithm a, AllReduceAlgorithm b, int p, LinkCost link
);

}  // namespace dist
