// Files, by MPI itself.
// state: forbidden
// says: MPI_File_open

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    MPI_File file = MPI_FILE_NULL;
    MPI_File_open(comm.handle(), "answers", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
}

}  // namespace dist
