#include "exercises/09_rpc/actor_mesh.hpp"

#include "course/runtime/byte_parts.hpp"

namespace dist {

struct ActorMesh::State {
    // TODO: what does a rank have to know of each actor, of its own and of those on other ranks?
    // Begin with call_async, wait and a queue; then failure, deadlock, snapshots. What has a
    // message to say besides endpoint and arguments, so that who gets it sees a deadlock?
    // byte_parts.hpp makes one row of bytes of several.
};

ActorMesh::ActorMesh(Rpc& rpc, std::vector<ActorDim> dims) {
    throw NotImplemented("actor_mesh");
}

ActorMesh::~ActorMesh() = default;

void ActorMesh::spawn(const std::string& name, const Factory& factory, int snapshot_every) {
    throw NotImplemented("actor_mesh");
}

ActorMesh::Call ActorMesh::call_async(
    const std::string& name,
    const ActorSlice& slice,
    const std::string& endpoint,
    std::span<const std::byte> arguments
) {
    throw NotImplemented("actor_mesh");
}

std::map<int, Bytes> ActorMesh::wait(const Call& call) {
    throw NotImplemented("actor_mesh");
}

void ActorMesh::snapshot(const std::string& name) {
    throw NotImplemented("actor_mesh");
}

void ActorMesh::restart(const std::string& name, int place) {
    throw NotImplemented("actor_mesh");
}

}  // namespace dist
