// Every rank cuts its chunk from its own copy, which is the result on rank 0 only.
// state: fail
// says: that is this rank's own contribution
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    std::vector<float> data(in.begin(), in.end());
    reduce(data, op, 0, comm);
    const Chunk chunk = chunk_bounds(data.size(), comm.size(), comm.rank());
    std::ranges::copy(std::span(data).subspan(chunk.begin, chunk.size()), out.begin());
}

}  // namespace dist
