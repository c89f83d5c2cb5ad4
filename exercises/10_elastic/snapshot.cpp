#include "exercises/10_elastic/snapshot.hpp"

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/07_zero/sharded_checkpoint.hpp"

namespace dist {

struct Snapshots::State {
    // TODO: what does the thread need for itself? How does its end, or its error, come to the next call? And a rank
    // that could not copy has no snapshot: how do the others know that, before they write theirs?
};

Snapshots::Snapshots(std::filesystem::path folder, const Communicator& comm) {
    throw NotImplemented("snapshot");
}

Snapshots::~Snapshots() = default;

void Snapshots::take(
    std::int64_t step, std::span<const nn::TensorPart> parts, std::span<const std::byte> extra
) {
    throw NotImplemented("snapshot");
}

void Snapshots::wait() {
    throw NotImplemented("snapshot");
}

std::int64_t load_snapshot(
    const std::filesystem::path& folder,
    std::span<const nn::TensorPart> wanted,
    std::span<std::byte> extra,
    const Communicator& comm
) {
    throw NotImplemented("snapshot");
}

}  // namespace dist
