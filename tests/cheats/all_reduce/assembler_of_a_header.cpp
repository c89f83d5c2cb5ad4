// A header of the C library has a macro that writes an assembler's label.
// state: forbidden
// says: assembler

#include <cstdlib>
#include <sys/cdefs.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

extern "C" long __REDIRECT(combine, (long), labs);

namespace dist {

void all_reduce(std::span<float> data, ReduceOp /*op*/, const Communicator& /*comm*/) {
    data[0] = static_cast<float>(combine(-1));
}

}  // namespace dist
