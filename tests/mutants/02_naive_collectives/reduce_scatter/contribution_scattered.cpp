// It scatters in, and not the result.
// state: fail
// says: that is rank 0's contribution: scatter the result
#include <vector>

#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    std::vector<float> data(in.begin(), in.end());
    reduce(data, op, 0, comm);
    scatter(in, out, 0, comm);
}

}  // namespace dist
