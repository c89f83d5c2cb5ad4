// Ends the process that watches over it.
// state: forbidden
// says: no exercise needs processes

#include <csignal>
#include <unistd.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    kill(getppid(), SIGKILL);
}

}  // namespace dist
