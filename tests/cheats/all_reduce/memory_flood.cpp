// Takes all memory.
// state: memory_limit crash fail

#include <cstring>
#include <vector>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    static std::vector<std::vector<char>> all;
    while (true) {
        all.emplace_back(std::size_t{1} << 24U, '\1');
    }
}

}  // namespace dist
