// Both halves are there already.
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    reduce(data, op, 0, comm);
    broadcast(data, 0, comm);
}

}  // namespace dist
