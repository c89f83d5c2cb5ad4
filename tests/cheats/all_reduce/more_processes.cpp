// Processes that MPI starts.
// state: forbidden
// says: MPI_Comm_spawn

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    char program[] = "/bin/true";
    MPI_Comm others = MPI_COMM_NULL;
    MPI_Comm_spawn(
        program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm.handle(), &others, MPI_ERRCODES_IGNORE
    );
}

}  // namespace dist
