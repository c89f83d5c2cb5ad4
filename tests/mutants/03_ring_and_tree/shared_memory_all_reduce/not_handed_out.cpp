// The result of a slice stays in one part.
// state: fail
// says: that is this rank's own contribution
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/shared_memory_all_reduce.hpp"

namespace dist {

void shared_memory_all_reduce(SharedBuffer& data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const Chunk mine = chunk_bounds(data.size(), p, comm.rank());
    const auto slice = [&](int rank) { return data.of(rank).subspan(mine.begin, mine.size()); };
    data.synchronize();

    for (int src = 1; src < p; ++src) {
        accumulate(slice(src), slice(0), op);
    }

    if (op == ReduceOp::mean) {
        scale(slice(0), 1.0F / static_cast<float>(p));
    }
    data.synchronize();
}

}  // namespace dist
