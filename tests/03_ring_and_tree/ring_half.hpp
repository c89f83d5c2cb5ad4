// What half of a ring may cost: the reduce-scatter, or the all-gather.
#pragma once

#include "tests/harness/words/attempt.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// All ranks send to the next one at the same time, and to nobody else.
inline Cost to_the_next_rank(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    Cost cost{.rounds = ring_rounds(p - 1, p), .among = neighbours(comm)};
    if (p > 1 && call.n >= static_cast<std::size_t>(p)) {  // an empty chunk need not be sent
        cost.sent_to = {(r + 1) % p};
        cost.received_from = {(r - 1 + p) % p};
    }
    return cost;
}

/// p-1 messages of a chunk, and no chunk that is longer than it must be.
inline Cost one_chunk_a_step(const Call& call, const Communicator& comm) {
    const long steps = comm.size() - 1;
    const long chunk = ceil_div(call.n, comm.size());
    return {.messages_sent = at_most(steps), .bytes_sent = at_most(4 * steps * chunk)};
}

}  // namespace dist::harness
