// Lets MPI do the exercise.
// state: forbidden in gives every rank the root's data, from every root, for every length n
// says: This exercise builds a broadcast from messages
#include <mpi.h>

#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace dist {

void tree_broadcast(std::span<float> data, int root, const Communicator& comm) {
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Bcast(data.data(), n, MPI_FLOAT, root, comm.handle()));
}

}  // namespace dist
