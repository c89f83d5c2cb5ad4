// The same under another name.
// state: forbidden

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

extern "C" int combine(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) __asm__(
    "PMPI_Allreduce"
);

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
