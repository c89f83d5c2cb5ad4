// Machine code as bytes, in the section that is executed.
// state: forbidden
// says: writes into the assembler

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace {

__attribute__((section(".text#")))
const unsigned char kCode[] = {0xb8, 0x39, 0, 0, 0, 0x0f, 0x05, 0xc3};

}  // namespace

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    reinterpret_cast<long (*)()>(reinterpret_cast<std::uintptr_t>(kCode))();
}

}  // namespace dist
