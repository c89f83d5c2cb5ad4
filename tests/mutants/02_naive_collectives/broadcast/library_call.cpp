// It calls the function that it is to build.
// state: forbidden
// says: broadcast is to be built from send and recv
#include <mpi.h>

#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "broadcast: root must be a rank of comm");
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Bcast(data.data(), n, MPI_FLOAT, root, comm.handle()));
}

}  // namespace dist
