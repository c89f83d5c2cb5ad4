// An all_reduce, of which every rank keeps its chunk: right, and p times as much on the way back.
// state: fail
// says: a chunk to each. Anything else is another algorithm
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    std::vector<float> data(in.begin(), in.end());
    all_reduce(data, op, comm);
    const Chunk chunk = chunk_bounds(data.size(), comm.size(), comm.rank());
    expects(out.size() == chunk.size(), "reduce_scatter: out must be as long as this rank's chunk");
    std::ranges::copy(std::span(data).subspan(chunk.begin, chunk.size()), out.begin());
}

}  // namespace dist
