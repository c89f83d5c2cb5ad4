// The same by the C library.
// state: forbidden
// says: fopen

#include <cstdio>
#include <unistd.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    std::FILE* const log = std::fopen("../rank-0.jsonl", "a");
    std::fputs("{\"finished\": true}\n", log);
    std::fclose(log);
    _exit(0);
}

}  // namespace dist
