// What the tests of trees and doublings share: powers of two, and a mean over the wrong ranks.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "tests/harness/words/patterns.hpp"
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

/// p is no power of two: p - q ranks hand their data in by one message each. As many take one of them in, and send
/// it the result: one message more than those for the log2 q distances, which all others send.
inline void others_send_one_message(const Attempt& attempt, int steps_for_each_distance) {
    on_ranks({3, 5, 6, 7}, [&](const Communicator& comm) {
        const int p = comm.size();
        const int q = floor_power(p);
        const int steps = steps_for_each_distance * floor_log(p);
        const Call call{.n = 1000};
        Buffers buffers = attempt.before(call, comm);
        INFO("p = " << p << ", q = " << q << "; the messages that the ranks sent, fewest first");
        record(attempt, buffers, call, comm);
        std::vector<int> sent(static_cast<std::size_t>(p));
        for (const MessageRecord& message : recorded_messages(comm)) {
            ++sent[static_cast<std::size_t>(message.src)];
        }
        std::ranges::sort(sent);
        std::string right;
        std::string got;
        for (int i = 0; i < p; ++i) {
            right += " " + std::to_string(i < p - q ? 1 : i < q ? steps : steps + 1);
            got += " " + std::to_string(sent[static_cast<std::size_t>(i)]);
        }
        const Comparison alike{got == right, "expected" + right + ", got" + got};
        CHECK(alike);
    });
}

/// What the likely mistakes of an all-reduce by doubling leave, most telling first.
inline std::vector<Suspicion> doubling_mistakes(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const int q = floor_power(p);
    std::vector<Suspicion> known = other_operations(call, p);
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
