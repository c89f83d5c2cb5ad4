// A section of code that can be written to.
// state: forbidden
// says: writes into the assembler

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace {

__attribute__((section(".text.w,\"awx\",@progbits#"), used)) void code() {}

}  // namespace

namespace dist {

void all_reduce(std::span<float> /*data*/, ReduceOp /*op*/, const Communicator& /*comm*/) {
    *reinterpret_cast<unsigned char*>(&code) = 0xc3;
}

}  // namespace dist
