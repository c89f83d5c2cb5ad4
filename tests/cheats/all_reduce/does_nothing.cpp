// Leaves every rank its own contribution. The attacks of ../all_reduce.toml stand outside or inside of its call.
// state: fail

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fcntl.h>
#include <limits>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

// outside

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    // inside
}

}  // namespace dist
