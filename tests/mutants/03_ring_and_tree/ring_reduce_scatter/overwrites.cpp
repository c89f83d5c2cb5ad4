// Receives into the chunk itself: what comes in takes the place of what is there.
// state: fail
// says: alone would give, 1 of 3 contributions
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

    for (int s = 0; s < p - 1; ++s) {
        ring_shift(chunk(r - 1 - s), chunk(r - 2 - s), comm);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r), 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
