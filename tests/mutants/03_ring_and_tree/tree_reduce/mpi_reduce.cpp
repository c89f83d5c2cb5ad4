// Lets MPI do the exercise.
// state: forbidden
// says: This exercise builds a reduction from messages
#include <vector>

#include <mpi.h>

#include "exercises/03_ring_and_tree/tree_reduce.hpp"

namespace dist {

void tree_reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    const int n = static_cast<int>(data.size());
    const std::vector<float> in(data.begin(), data.end());
    MPI_CHECK(MPI_Reduce(in.data(), data.data(), n, MPI_FLOAT, MPI_SUM, root, comm.handle()));
    if (op == ReduceOp::mean && comm.rank() == root) {
        scale(data, 1.0F / static_cast<float>(comm.size()));
    }
}

}  // namespace dist
