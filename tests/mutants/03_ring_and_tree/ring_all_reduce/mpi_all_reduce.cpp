// Lets MPI do the exercise.
// state: forbidden
// says: This exercise builds an all-reduce from messages
#include <map>

#include <mpi.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const std::map<ReduceOp, MPI_Op> ops = {
        {ReduceOp::sum, MPI_SUM},
        {ReduceOp::mean, MPI_SUM},
        {ReduceOp::product, MPI_PROD},
        {ReduceOp::min, MPI_MIN},
        {ReduceOp::max, MPI_MAX}};
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, data.data(), n, MPI_FLOAT, ops.at(op), comm.handle()));
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(comm.size()));
    }
}

}  // namespace dist
