// Chunk r is reduced to rank r: right, and the load is shared; but p(p - 1) messages.
// state: fail
// says: Anything else is another algorithm
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
    for (int root = 0; root < comm.size(); ++root) {
        const Chunk bounds = chunk_bounds(data.size(), comm.size(), root);
        const auto chunk = std::span(data).subspan(bounds.begin, bounds.size());
        reduce(chunk, op, root, comm);
        if (comm.rank() == root) {
            expects(out.size() == chunk.size(), "reduce_scatter: out has the wrong length");
            std::ranges::copy(chunk, out.begin());
        }
    }
}

}  // namespace dist
