// reduce has divided already, and every rank divides once more.
// state: fail
// says: that is the mean divided by p once more
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
    scatter(data, out, 0, comm);
    if (op == ReduceOp::mean) {
        scale(out, 1.0F / static_cast<float>(comm.size()));
    }
}

}  // namespace dist
