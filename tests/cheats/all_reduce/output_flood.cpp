// Prints without end.
// state: output_limit

#include <cstdio>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    while (true) {
        std::puts("and so on, and so on, and so on, and so on, and so on, and so on");
    }
}

}  // namespace dist
