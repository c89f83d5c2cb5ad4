#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

namespace dist {

NodeView observe(NodeView view, const RendezvousState& state, Clock::Duration now) {
    // TODO: observe and decide first, since they need no store; then run(), and what calls it.
    throw NotImplemented("rendezvous");
}

Decision decide(const RendezvousState& state, const NodeView& view, Wish wish) {
    throw NotImplemented("rendezvous");
}

Rendezvous::Rendezvous(
    Store& store,
    std::string key,
    std::string name,
    const RendezvousSettings& settings,
    Clock& clock
)
    : store_(store), key_(std::move(key)), clock_(clock) {
    view_.name = std::move(name);
    view_.settings = settings;
    throw NotImplemented("rendezvous");
}

Decision Rendezvous::run(Wish wish) {
    throw NotImplemented("rendezvous");
}

RendezvousRound Rendezvous::next_round() {
    throw NotImplemented("rendezvous");
}

bool Rendezvous::stay() {
    throw NotImplemented("rendezvous");
}

void Rendezvous::leave() {
    throw NotImplemented("rendezvous");
}

void Rendezvous::close() {
    throw NotImplemented("rendezvous");
}

}  // namespace dist
