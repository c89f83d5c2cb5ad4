// A transport that takes the reference's place, as the student's does, and cannot be made.
#include <utility>

#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

namespace dist {

struct TcpTransport::State {
    std::vector<net::Socket> sockets;
    int rank;
};

TcpTransport::TcpTransport(std::vector<net::Socket> sockets, int rank)
    : state_(std::make_unique<State>(State{std::move(sockets), rank})) {
    throw Error("rank " + std::to_string(rank) + " is not made for this");
}
TcpTransport::~TcpTransport() = default;

int TcpTransport::rank() const {
    return state_->rank;
}
int TcpTransport::size() const {
    return static_cast<int>(state_->sockets.size());
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
