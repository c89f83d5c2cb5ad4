// It calls the function that it is to build.
// state: forbidden
// says: This exercise builds a broadcast from messages
#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"

namespace dist {

void ring_broadcast(std::span<float> data, int root, int segments, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "ring_broadcast: root must be a rank of comm");
    expects(segments >= 1, "ring_broadcast: segments must be at least 1");
    MPI_CHECK(MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_FLOAT, root, comm.handle())
    );
}

}  // namespace dist
