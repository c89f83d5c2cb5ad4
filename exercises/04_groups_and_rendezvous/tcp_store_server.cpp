#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

namespace dist {

struct TcpStoreServer::State {
    // TODO: the sockets, what is stored, and what is known of each client: what has come of its next request, what it
    // has still to be sent, what it waits for. One thread sleeps in poll() until something happens to one of them.
    // course/net/socket.hpp makes sockets, and course/net/wire.hpp writes numbers and texts; recv and send may take or
    // give less than was asked for.
};

TcpStoreServer::TcpStoreServer(int port) {
    throw NotImplemented("tcp_store_server");
}

TcpStoreServer::~TcpStoreServer() = default;

int TcpStoreServer::port() const {
    throw NotImplemented("tcp_store_server");
}

}  // namespace dist
