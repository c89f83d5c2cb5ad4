// The kernel, past the C library.
// state: forbidden
// says: assembler

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    long result = 0;
    asm volatile("syscall" : "=a"(result) : "a"(57L) : "rcx", "r11", "memory");
}

}  // namespace dist
