// Who is in a sum, and how often: each rank contributes a digit of its own.
#pragma once

#include <string>
#include <vector>

#include "tests/harness/words/attempt.hpp"

namespace dist::harness {

/// Every rank's contribution is in the sum once: on all ranks or, where the attempt takes a root, on
/// the root, for each root, and the data of the others is as it was. A wrong sum is told as "the sum
/// of ranks 0, 1 (2 times)". For worlds of at most 24 ranks; `why` is told with a failure.
void every_rank_once(
    const Attempt& attempt, const std::vector<int>& worlds, const std::string& why
);

}  // namespace dist::harness
