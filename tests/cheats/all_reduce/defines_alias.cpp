// A second name for a function of its own: that of a call of MPI.
// state: build_error forbidden

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

extern "C" int nothing_sent(const void*, int, MPI_Datatype, int, int, MPI_Comm) {
    return MPI_SUCCESS;
}
extern "C" int PMPI_Issend(const void*, int, MPI_Datatype, int, int, MPI_Comm)
    __attribute__((alias("nothing_sent")));

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
}

}  // namespace dist
