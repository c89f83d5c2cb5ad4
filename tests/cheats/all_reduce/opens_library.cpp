// Opens MPI a second time.
// state: forbidden
// says: at run time

#include <dlfcn.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    dlopen("libmpi.so", RTLD_NOW);
}

}  // namespace dist
