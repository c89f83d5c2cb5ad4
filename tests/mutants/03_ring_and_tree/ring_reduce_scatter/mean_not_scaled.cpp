// Forgets that mean divides.
// state: fail
// says: that is the sum: the mean is the sum divided by p
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
        const auto mine = chunk(r - 2 - s);
        const auto incoming = std::span(scratch).first(mine.size());
        ring_shift(chunk(r - 1 - s), incoming, comm);
        accumulate(incoming, mine, op);
    }
}

}  // namespace dist
