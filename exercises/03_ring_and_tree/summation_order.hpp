// Exercise 03: a sum that is the same to the last bit, however many ranks share the numbers.
#pragma once

#include <span>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// The sum of all elements of all ranks, added as one loop would: from 0, rank 0's first element
/// first, the last rank's last element last. So it has the same bits on every rank, in every run,
/// for any number of ranks, and wherever the numbers are cut.
///
/// part     n >= 0 elements; each rank may hold another number of them.
/// comm     collective: every rank of `comm` makes this call.
/// returns  the sum of them all, on every rank; in float, rounded after each addition.
///
/// Cost    the sum so far goes to each rank but rank 0, the result to each but the last: at most
///         2(p-1) messages in all, of one float each.
/// Errors  dist::Error if a message fails.
/// Source  Goldberg (1991), "What every computer scientist should know about floating-point
///         arithmetic", ACM Computing Surveys.
float ordered_sum(std::span<const float> part, const Communicator& comm);

/// Numbers whose sum in float depends on the order: added from front to back they give another sum
/// than from back to front.
///
/// returns  at most 10 numbers; they and both of their sums are finite.
std::vector<float> order_matters();

}  // namespace dist
