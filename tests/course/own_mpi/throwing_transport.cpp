// A transport that takes the reference's place, as the student's does, and cannot be made.
#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

namespace dist {

struct TcpTransport::State {
    int rank;
    int size;
};

TcpTransport::TcpTransport(std::vector<net::Socket> sockets, int rank)
    : state_(std::make_unique<State>(State{rank, static_cast<int>(sockets.size())})) {
    throw Error("rank " + std::to_string(rank) + " is not made for this");
}
TcpTransport::~TcpTransport() = default;

int TcpTransport::rank() const {
    return state_->rank;
}
int TcpTransport::size() const {
    return state_->size;
}
Request TcpTransport::isend(std::span<const std::byte> /*data*/, int, std::uint32_t, int) {
    return nullptr;
}
Request TcpTransport::irecv(std::span<std::byte> /*data*/, int, std::uint32_t, int) {
    return nullptr;
}
Arrival TcpTransport::wait(const Request& /*request*/) {
    return {};
}
bool TcpTransport::test(const Request& /*request*/) {
    return true;
}
Arrival TcpTransport::probe(int, std::uint32_t, int) {
    return {};
}

}  // namespace dist
