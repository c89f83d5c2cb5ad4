// Takes the place of an exercise that the tests call as well.
// state: forbidden build_error

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> /*data*/, int /*root*/, const Communicator& /*comm*/) {}

}  // namespace dist

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
}

}  // namespace dist
