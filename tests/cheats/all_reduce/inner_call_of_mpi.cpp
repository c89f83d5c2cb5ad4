// What MPI_Allreduce itself is made of, by the name that it has inside of Open MPI.
// state: forbidden build_error
// says: ompi_

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

extern "C" int
ompi_coll_base_allreduce_intra_basic_linear(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, void*);

namespace dist {

void all_reduce(std::span<float> data, ReduceOp /*op*/, const Communicator& comm) {
    ompi_coll_base_allreduce_intra_basic_linear(
        MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM, comm.handle(),
        nullptr
    );
}

}  // namespace dist
