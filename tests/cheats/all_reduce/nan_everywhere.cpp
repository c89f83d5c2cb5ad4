// NaN compares as neither too far nor too near.
// state: fail

#include <limits>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    for (float& x : data) {
        x = std::numeric_limits<float>::quiet_NaN();
    }
}

}  // namespace dist
