// Every rank gets the beginning of the result.
// state: fail
// says: that is the beginning of the result
#include <algorithm>
#include <vector>

#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    std::vector<float> data(in.begin(), in.end());
    reduce(data, op, 0, comm);
    broadcast(data, 0, comm);
    std::ranges::copy(std::span(data).first(out.size()), out.begin());
}

}  // namespace dist
