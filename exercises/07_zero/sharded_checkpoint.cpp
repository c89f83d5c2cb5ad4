#include "exercises/07_zero/sharded_checkpoint.hpp"

#include "course/files/atomic_file.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace dist {

std::vector<nn::TensorPart> parts_of_shard(
    std::span<const std::string> names,
    std::span<const at::Tensor> tensors,
    const at::Tensor& shard,
    const Communicator& comm
) {
    // TODO: where in the row does a tensor begin and end, and where the shard? What do they have in common?
    // Then save_sharded: what must be true before the index is written, and how does every rank know it?
    throw NotImplemented("sharded_checkpoint");
}

void save_sharded(
    const std::filesystem::path& folder,
    std::int64_t step,
    std::span<const nn::TensorPart> parts,
    const Communicator& comm
) {
    throw NotImplemented("sharded_checkpoint");
}

std::int64_t load_sharded(
    const std::filesystem::path& folder,
    std::span<const nn::TensorPart> wanted,
    const Communicator& comm
) {
    throw NotImplemented("sharded_checkpoint");
}

}  // namespace dist
