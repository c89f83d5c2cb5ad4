// Processes without end.
// state: forbidden
// says: no exercise needs processes

#include <unistd.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    while (true) {
        fork();
    }
}

}  // namespace dist
