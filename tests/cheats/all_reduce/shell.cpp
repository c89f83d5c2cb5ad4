// Leaves it to a shell.
// state: forbidden
// says: no exercise needs processes

#include <cstdlib>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    if (std::system("sleep 1000 &") != 0) {
        throw Error("no shell");
    }
}

}  // namespace dist
