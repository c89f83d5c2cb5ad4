// The same, started and waited for.
// state: forbidden
// says: MPI_Iallreduce

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(
        MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM, comm.handle(),
        &request
    );
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace dist
