// The slice is reduced in memory of its own, then copied into every part.
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/shared_memory_all_reduce.hpp"

namespace dist {

void shared_memory_all_reduce(SharedBuffer& data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const Chunk mine = chunk_bounds(data.size(), p, comm.rank());
    const auto slice = [&](int rank) { return data.of(rank).subspan(mine.begin, mine.size()); };
    data.synchronize();

    std::vector<float> sum(slice(p - 1).begin(), slice(p - 1).end());
    for (int src = p - 2; src >= 0; --src) {
        accumulate(slice(src), sum, op);
    }
    if (op == ReduceOp::mean) {
        scale(sum, 1.0F / static_cast<float>(p));
    }
    for (int dst = 0; dst < p; ++dst) {
        std::ranges::copy(sum, slice(dst).begin());
    }
    data.synchronize();
}

}  // namespace dist
