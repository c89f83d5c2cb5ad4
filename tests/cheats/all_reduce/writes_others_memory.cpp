// Writes into the memory of its parent, that watches over it.
// state: forbidden
// says: the kernel itself

#include <sys/uio.h>
#include <unistd.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    char byte = 0;
    const iovec local{&byte, 1};
    const iovec remote{&byte, 1};
    process_vm_writev(getppid(), &local, 1, &remote, 1, 0);
}

}  // namespace dist
