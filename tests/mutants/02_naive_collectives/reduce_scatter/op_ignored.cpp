// Whatever the operation, it adds.
// state: fail
// says: that is the sum: look at op
#include <vector>

#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    std::vector<float> data(in.begin(), in.end());
    reduce(data, op == ReduceOp::mean ? op : ReduceOp::sum, 0, comm);
    scatter(data, out, 0, comm);
}

}  // namespace dist
