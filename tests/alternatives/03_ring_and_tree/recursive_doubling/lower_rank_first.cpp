// Blocking calls: the lower of two partners sends first, the other one receives first. Half the
// speed, and right.
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"

namespace dist {

void recursive_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    int power = 1;
    while (2 * power <= p) {
        power *= 2;
    }
    std::vector<float> incoming(data.size());
    const auto exchange = [&](int partner) {
        if (r < partner) {
            send(data, partner, comm);
            recv(incoming, partner, comm);
        } else {
            recv(incoming, partner, comm);
            send(data, partner, comm);
        }
        accumulate(incoming, data, op);
    };
    if (r >= power) {
        send(data, r - power, comm);
        recv(data, r - power, comm);
        return;
    }
    if (r + power < p) {
        recv(incoming, r + power, comm);
        accumulate(incoming, data, op);
    }
    for (int d = 1; d < power; d *= 2) {
        exchange(r ^ d);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
    if (r + power < p) {
        send(data, r + power, comm);
    }
}

}  // namespace dist
