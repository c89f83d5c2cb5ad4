// It calls the function that it is to build.
// state: forbidden
// says: reduce_scatter is to be built from reduce and scatter
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    std::vector<int> counts;
    for (int i = 0; i < comm.size(); ++i) {
        counts.push_back(static_cast<int>(chunk_bounds(in.size(), comm.size(), i).size()));
    }
    MPI_CHECK(
        MPI_Reduce_scatter(in.data(), out.data(), counts.data(), MPI_FLOAT, MPI_SUM, comm.handle())
    );
    if (op == ReduceOp::mean) {
        scale(out, 1.0F / static_cast<float>(comm.size()));
    }
}

}  // namespace dist
