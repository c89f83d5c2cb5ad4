// What a reduction must give, and what likely mistakes leave in its place.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/words/attempt.hpp"

namespace dist::harness {

/// Likely mistakes of a call, the most telling first.
using Mistakes = std::function<std::vector<Suspicion>(const Call&, const Communicator&)>;

/// The results of misplaced divisions in a mean: rank `last` finishes it, and the ranks after `last` add their
/// contributions one by one. Empty for other operations.
std::vector<Suspicion> mean_mistakes(const Call& call, int last, int p);

/// The same, finished on this rank.
std::vector<Suspicion> mean_mistakes_here(const Call& call, const Communicator& comm);

/// The results of a call that takes another operation than its own, as one that ignores it and adds. Empty for
/// sums and means.
std::vector<Suspicion> other_operations(const Call& call, int p);

/// What likely mistakes leave in the place of a reduction, whichever rank holds it and whoever added:
/// mean_mistakes(), another operation, and a start that was no
/// contribution.
std::vector<Suspicion> reduction_mistakes(const Call& call, int p);

/// Compares `data`, that began as contribution(), with the reduction over all ranks.
Comparison reduced(
    const std::vector<float>& data,
    const Call& call,
    const Communicator& comm,
    const Mistakes& mistakes = mean_mistakes_here
);

/// What the inputs of `ranks` combine to; a mean is not divided.
std::vector<float> partial(const Call& call, const std::set<int>& ranks);

/// The `k` ranks from `first` on, around the circle of p.
std::set<int> arc(int p, int first, int k);

/// "rank 1 alone", "ranks 0, 1 alone".
std::string alone(const std::set<int>& ranks);

/// A copy whose elements are multiplied by `factor`.
std::vector<float> scaled(std::vector<float> data, float factor);

}  // namespace dist::harness
