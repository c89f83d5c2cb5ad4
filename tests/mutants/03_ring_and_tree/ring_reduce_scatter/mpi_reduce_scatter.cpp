// Lets MPI do the exercise.
// state: forbidden
// says: This exercise builds a reduce-scatter from messages
#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    std::vector<int> counts;
    for (int i = 0; i < p; ++i) {
        counts.push_back(static_cast<int>(chunk_bounds(data.size(), p, i).size()));
    }
    const Chunk mine = chunk_bounds(data.size(), p, comm.rank());
    std::vector<float> result(mine.size());
    MPI_CHECK(MPI_Reduce_scatter(
        data.data(), result.data(), counts.data(), MPI_FLOAT,
        op == ReduceOp::max ? MPI_MAX : MPI_SUM, comm.handle()
    ));
    std::ranges::copy(result, data.subspan(mine.begin).begin());
}

}  // namespace dist
