// Passes on what it began with, not what it has added up: each chunk gets one contribution.
// state: fail
// says: has not visited every rank
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](std::span<float> all, int number) {
        const Chunk c = chunk_bounds(data.size(), p, (number + p) % p);
        return all.subspan(c.begin, c.size());
    };
    std::vector<float> scratch(data.size() / static_cast<std::size_t>(p) + 1);
    std::vector<float> start(data.begin(), data.end());

    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(data, r - 2 - s);
        const auto incoming = std::span(scratch).first(mine.size());
        ring_shift(chunk(start, r - 1 - s), incoming, comm);
        accumulate(incoming, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(data, r), 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
