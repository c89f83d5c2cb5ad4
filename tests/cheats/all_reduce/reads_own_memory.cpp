// Reads and writes memory by the file that shows it, past every protection.
// state: forbidden
// says: files

#include <fstream>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    std::fstream memory("/proc/self/mem", std::ios::in | std::ios::out | std::ios::binary);
    memory.seekp(static_cast<std::streamoff>(reinterpret_cast<std::uintptr_t>(data.data())));
    memory.write("", 1);
}

}  // namespace dist
