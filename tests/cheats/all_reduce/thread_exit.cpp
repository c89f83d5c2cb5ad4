// Ends the thread that the test runs in, past all that the test has still to check.
// state: fail early_exit crash hang

#include <pthread.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    pthread_exit(nullptr);
}

}  // namespace dist
