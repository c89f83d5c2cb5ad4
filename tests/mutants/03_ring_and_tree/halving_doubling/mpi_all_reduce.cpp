// Lets MPI do the exercise.
// state: forbidden
// says: This exercise builds an all-reduce from messages
#include <mpi.h>

#include "exercises/03_ring_and_tree/halving_doubling.hpp"

namespace dist {

void halving_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, data.data(), n, MPI_FLOAT, MPI_SUM, comm.handle()));
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(comm.size()));
    }
}

}  // namespace dist
