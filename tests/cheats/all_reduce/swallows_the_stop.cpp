// Calls what is forbidden, and catches what it is told then.
// state: forbidden
// says: MPI_Allreduce was called

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp /*op*/, const Communicator& comm) {
    try {
        MPI_Allreduce(
            MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
            comm.handle()
        );
    } catch (...) {
        return;
    }
}

}  // namespace dist
