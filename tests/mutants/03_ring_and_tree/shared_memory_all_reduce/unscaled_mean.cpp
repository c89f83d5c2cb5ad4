// The mean is not divided.
// state: fail
// says: that is the sum: mean divides it by p, once
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

    for (int dst = 1; dst < p; ++dst) {
        std::ranges::copy(slice(0), slice(dst).begin());
    }
    data.synchronize();
}

}  // namespace dist
