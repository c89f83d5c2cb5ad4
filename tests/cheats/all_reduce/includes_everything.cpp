// A file without end.
// state: build_error

#include "/dev/zero"
#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
}

}  // namespace dist
