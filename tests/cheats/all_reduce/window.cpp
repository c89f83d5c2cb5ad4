// Memory that all ranks see, by MPI itself.
// state: forbidden
#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    float* place = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate_shared(
        static_cast<MPI_Aint>(data.size() * sizeof(float)), sizeof(float), MPI_INFO_NULL,
        comm.handle(), &place, &window
    );
}

}  // namespace dist
