// Lets a child do the work, which outlives the run.
// state: forbidden
// says: no exercise needs processes

#include <unistd.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    if (fork() == 0) {
        setsid();
        while (true) {
            pause();
        }
    }
}

}  // namespace dist
