// Each rank adds all parts up into its own, while the others still read it.
// state: fail
// says: floats over
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/shared_memory_all_reduce.hpp"

namespace dist {

void shared_memory_all_reduce(SharedBuffer& data, ReduceOp op, const Communicator& comm) {
    data.synchronize();
    for (int src = 0; src < comm.size(); ++src) {
        if (src != comm.rank()) {
            accumulate(data.of(src), data.of(comm.rank()), op);
        }
    }
    if (op == ReduceOp::mean) {
        scale(data.of(comm.rank()), 1.0F / static_cast<float>(comm.size()));
    }
    data.synchronize();
}

}  // namespace dist
