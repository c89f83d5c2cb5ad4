// Stops another rank, and writes into it.
// state: forbidden
// says: the kernel itself

#include <sys/ptrace.h>
#include <unistd.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr);
}

}  // namespace dist
