// It reduces right into in, which is the caller's and const.
// state: fail
// says: give it a copy
#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    const std::span<float> data{const_cast<float*>(in.data()), in.size()};
    reduce(data, op, 0, comm);
    scatter(data, out, 0, comm);
}

}  // namespace dist
