#include "exercises/09_rpc/remote_reference.hpp"

namespace dist {

struct RefState {
    // TODO: the objects of this rank with the uses that others have of them; the uses here, each
    // with those that it was given to; and the messages that are not acknowledged. Which of these
    // has to be there for which other one? What may come twice, and what may come too late?
};

// What all copies of a RemoteRef share. What happens when it is destroyed?
struct RefUse {};

ForkData RemoteRef::fork_for(int to) const {
    throw NotImplemented("remote_reference");
}

bool RemoteRef::is_confirmed() const {
    throw NotImplemented("remote_reference");
}

void RemoteRef::when_confirmed(Callback callback) const {
    throw NotImplemented("remote_reference");
}

std::any& RemoteRef::value() const {
    throw NotImplemented("remote_reference");
}

RefContext::RefContext(int rank, Clock& clock, Send send, const RetryOptions& retries) {
    throw NotImplemented("remote_reference");
}

RemoteRef RefContext::create(std::any value) {
    throw NotImplemented("remote_reference");
}

RefContext::Remote RefContext::remote(int owner) {
    throw NotImplemented("remote_reference");
}

void RefContext::make(const ForkData& data, std::any value) {
    throw NotImplemented("remote_reference");
}

RemoteRef RefContext::accept(const ForkData& data) {
    throw NotImplemented("remote_reference");
}

void RefContext::receive(int from, const ControlMessage& message) {
    throw NotImplemented("remote_reference");
}

void RefContext::tick() {
    throw NotImplemented("remote_reference");
}

RefCounts RefContext::counts() const {
    throw NotImplemented("remote_reference");
}

void RefContext::shutdown() {
    throw NotImplemented("remote_reference");
}

}  // namespace dist
