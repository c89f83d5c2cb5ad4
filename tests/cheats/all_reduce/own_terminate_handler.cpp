// Takes an exception for a success.
// state: forbidden

#include <cstdlib>
#include <exception>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    std::set_terminate([] { std::_Exit(0); });
    throw 1;
}

}  // namespace dist
