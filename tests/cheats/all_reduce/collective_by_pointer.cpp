// The same, by its address.
// state: forbidden
// says: MPI_Allreduce

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace {

using Collective = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
volatile Collective combine = &MPI_Allreduce;

}  // namespace

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    combine(
        MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM, comm.handle()
    );
}

}  // namespace dist
