// It calls the function that it is to build.
// state: forbidden
// says: all_gather is to be built from gather and broadcast
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/all_gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    std::vector<int> counts;
    std::vector<int> begins;
    for (int i = 0; i < comm.size(); ++i) {
        const Chunk chunk = chunk_bounds(out.size(), comm.size(), i);
        counts.push_back(static_cast<int>(chunk.size()));
        begins.push_back(static_cast<int>(chunk.begin));
    }
    MPI_CHECK(MPI_Allgatherv(
        in.data(), static_cast<int>(in.size()), MPI_FLOAT, out.data(), counts.data(), begins.data(),
        MPI_FLOAT, comm.handle()
    ));
}

}  // namespace dist
