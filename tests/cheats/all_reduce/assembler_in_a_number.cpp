// What looks like a number and the beginning of a letter is one number to a preprocessor.
// state: forbidden
// says: assembler

#include "exercises/02_naive_collectives/all_reduce.hpp"

#define NOTHING(x)

namespace dist {

void all_reduce(std::span<float> /*data*/, ReduceOp /*op*/, const Communicator& /*comm*/) {
    NOTHING(0e+a'b) asm volatile("nop");
    NOTHING('')
}

}  // namespace dist
