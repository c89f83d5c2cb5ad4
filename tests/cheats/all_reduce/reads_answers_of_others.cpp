// Looks for the reference on the disk.
// state: forbidden
// says: files

#include <filesystem>
#include <fstream>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    for (const auto& entry : std::filesystem::recursive_directory_iterator("/")) {
        std::ifstream in(entry.path());
        data[0] += static_cast<float>(in.get());
    }
}

}  // namespace dist
