// Shares the results by memory that has a name, without a message.
// state: forbidden
// says: reads or writes files

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    const int file = shm_open("/answers", O_CREAT | O_RDWR, 0600);
    if (ftruncate(file, 4096) == 0) {
        data[0] = *static_cast<float*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0));
    }
}

}  // namespace dist
