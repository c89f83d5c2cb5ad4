#include "exercises/10_elastic/membership.hpp"

namespace dist {

std::string round_prefix(const std::string& run, std::int64_t number) {
    throw NotImplemented("membership");
}

struct Membership::State {
    // TODO: a Rendezvous, the round that this node is in, and what the nodes of a round tell each
    // other through the store. What becomes of that when a newer round begins? And what if a node
    // writes then that is still in the older one?
};

Membership::Membership(
    Store& store,
    const std::string& run,
    const std::string& node,
    int workers,
    const RendezvousSettings& settings,
    Clock& clock
) {
    throw NotImplemented("membership");
}

Membership::~Membership() = default;

std::optional<WorkerRound> Membership::next() {
    throw NotImplemented("membership");
}

bool Membership::holds() {
    throw NotImplemented("membership");
}

bool Membership::finish() {
    throw NotImplemented("membership");
}

void Membership::leave() {
    throw NotImplemented("membership");
}

void Membership::close() {
    throw NotImplemented("membership");
}

}  // namespace dist
