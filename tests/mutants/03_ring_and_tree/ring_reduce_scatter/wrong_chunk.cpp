// Adds what comes in to the chunk that just left, not to the one with the same number.
// state: fail
// says: FAIL  ring_reduce_scatter leaves chunk r of the sum on rank r
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk c = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(c.begin, c.size());
    };
    std::vector<float> scratch(data.size() / static_cast<std::size_t>(p) + 1);

    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r - 1 - s);
        const auto incoming = std::span(scratch).first(chunk(r - 2 - s).size());
        ring_shift(mine, incoming, comm);
        const std::size_t both = std::min(incoming.size(), mine.size());
        accumulate(incoming.first(both), mine.first(both), op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r), 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
