// Macros of the tests, as if the tests were compiled with this file.
// state: fail

#include "exercises/02_naive_collectives/all_reduce.hpp"

#define CHECK(...) static_cast<void>(0)
#define REQUIRE(...) static_cast<void>(0)
#define main answers_main

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
}

}  // namespace dist
