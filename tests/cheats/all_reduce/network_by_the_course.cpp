// Asks somebody else, by what the course gives to exercises with sockets.
// state: forbidden
// says: uses dist::net::connect_to

#include "course/net/socket.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    const net::Socket from = net::connect_to("127.0.0.1", 80, std::chrono::milliseconds(100));
}

}  // namespace dist
