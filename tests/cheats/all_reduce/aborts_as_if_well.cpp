// MPI ends the run, with a status that says that all is well.
// state: abort

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    MPI_Abort(comm.handle(), 0);
}

}  // namespace dist
