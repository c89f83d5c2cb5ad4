// Has the assembler put the reference into the program.
// state: build_error forbidden

#include "exercises/02_naive_collectives/all_reduce.hpp"

asm(".section .rodata\n.incbin \"solutions/02_naive_collectives/all_reduce.cpp\"\n.text\n");

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
}

}  // namespace dist
