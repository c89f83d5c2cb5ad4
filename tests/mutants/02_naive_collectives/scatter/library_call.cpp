// It calls the function that it is to build.
// state: forbidden
// says: scatter is to be built from send and recv
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "scatter: root must be a rank of comm");
    std::vector<int> counts;
    std::vector<int> begins;
    for (int i = 0; i < p; ++i) {
        const Chunk chunk = chunk_bounds(in.size(), p, i);
        counts.push_back(static_cast<int>(chunk.size()));
        begins.push_back(static_cast<int>(chunk.begin));
    }
    MPI_CHECK(MPI_Scatterv(
        in.data(), counts.data(), begins.data(), MPI_FLOAT, out.data(),
        static_cast<int>(out.size()), MPI_FLOAT, root, comm.handle()
    ));
}

}  // namespace dist
