// Is never done.
// state: time_limit

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    for (volatile int i = 0;; i = i + 1) {
    }
}

}  // namespace dist
