// What the tests of trees and doublings share: powers of two, and a mean over the wrong ranks.
#pragma once

#include <bit>

#include "tests/harness/words/reductions.hpp"

namespace dist::harness {

/// q, the largest power of two that is at most p.
inline int floor_power(int p) {
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(p)));
}

/// log2 p, rounded down.
inline int floor_log(int p) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(p))) - 1;
}

/// log2 p, rounded up.
inline int ceil_log(int p) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1)));
}

/// Rank r ^ d for each distance d.
inline std::set<int> doubling_partners(int r, int p) {
    std::set<int> partners;
    for (int d = 1; d < p; d *= 2) {
        partners.insert(r ^ d);
    }
    return partners;
}

/// What the likely mistakes of an all-reduce by doubling leave, most telling first.
inline std::vector<Suspicion> doubling_mistakes(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const int q = floor_power(p);
    std::vector<Suspicion> known = ignored_operation(call, p);
    if (call.op == ReduceOp::mean && q != p) {
        const float too_much = static_cast<float>(p) / static_cast<float>(q);
        known.push_back(
            {scaled(reduction(call, p), too_much),
             "that is the sum divided by q = " + std::to_string(q) +
                 ": those beyond q are in it as well, p = " + std::to_string(p) + " ranks"}
        );
    }
    for (const Suspicion& mean_mistake : mean_mistakes_here(call, comm)) {
        known.push_back(mean_mistake);
    }
    return known;
}

}  // namespace dist::harness
