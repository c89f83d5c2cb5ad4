#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

namespace dist {

struct TcpTransport::State {
    // TODO: for each other rank what leaves, what comes just now, who waits for a message, and which message waits for
    // someone. Which of several threads that wait is to move the messages of all?
};

TcpTransport::TcpTransport(std::vector<net::Socket> sockets, int rank) {
    throw NotImplemented("tcp_transport");
}

TcpTransport::~TcpTransport() = default;

int TcpTransport::rank() const {
    throw NotImplemented("tcp_transport");
}

int TcpTransport::size() const {
    throw NotImplemented("tcp_transport");
}

Request TcpTransport::isend(
    std::span<const std::byte> data, int dst, std::uint32_t group, int tag
) {
    throw NotImplemented("tcp_transport");
}

Request TcpTransport::irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) {
    throw NotImplemented("tcp_transport");
}

Arrival TcpTransport::wait(const Request& request) {
    throw NotImplemented("tcp_transport");
}

bool TcpTransport::test(const Request& request) {
    throw NotImplemented("tcp_transport");
}

Arrival TcpTransport::probe(int src, std::uint32_t group, int tag) {
    throw NotImplemented("tcp_transport");
}

}  // namespace dist
