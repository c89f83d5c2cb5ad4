// fork, by its number.
// state: forbidden
// says: the kernel itself

#include <sys/syscall.h>
#include <unistd.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    syscall(SYS_fork);
}

}  // namespace dist
