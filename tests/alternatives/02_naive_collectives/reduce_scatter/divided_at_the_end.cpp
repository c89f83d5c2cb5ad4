// Each rank divides its own chunk of the sum.
#include <vector>

#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    std::vector<float> data(in.begin(), in.end());
    const bool is_mean = op == ReduceOp::mean;
    reduce(data, is_mean ? ReduceOp::sum : op, 0, comm);
    scatter(data, out, 0, comm);
    if (is_mean) {
        scale(out, 1.0F / static_cast<float>(comm.size()));
    }
}

}  // namespace dist
