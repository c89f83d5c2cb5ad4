// Asks somebody else.
// state: forbidden
// says: the kernel itself

#include <netinet/in.h>
#include <sys/socket.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
    const int from = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(80);
    connect(from, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace dist
