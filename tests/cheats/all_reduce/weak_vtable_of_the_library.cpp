// The table of virtual functions of a library's class, as weak data.
// state: forbidden
// says: that is a library's

#include "exercises/02_naive_collectives/all_reduce.hpp"

extern "C" {
__attribute__((weak)) const void* _ZTVSt13basic_filebufIcSt11char_traitsIcEE[16] = {};
}

namespace dist {

void all_reduce(std::span<float> /*data*/, ReduceOp /*op*/, const Communicator& /*comm*/) {}

}  // namespace dist
