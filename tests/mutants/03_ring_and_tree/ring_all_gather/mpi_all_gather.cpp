// Lets MPI do the exercise.
// state: forbidden
// says: This exercise builds an all-gather from messages
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

namespace dist {

void ring_all_gather(std::span<float> data, const Communicator& comm) {
    const int p = comm.size();
    std::vector<int> counts;
    std::vector<int> begins;
    for (int i = 0; i < p; ++i) {
        const Chunk c = chunk_bounds(data.size(), p, i);
        counts.push_back(static_cast<int>(c.size()));
        begins.push_back(static_cast<int>(c.begin));
    }
    MPI_CHECK(MPI_Allgatherv(
        MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data.data(), counts.data(), begins.data(), MPI_FLOAT,
        comm.handle()
    ));
}

}  // namespace dist
