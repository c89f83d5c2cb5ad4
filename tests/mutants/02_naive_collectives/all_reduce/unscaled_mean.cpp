// The mean is not divided by p.
// state: fail
// says: that is the sum: mean divides it by p, once
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    if (comm.rank() != 0) {
        send(data, 0, comm);
    } else {
        std::vector<float> incoming(data.size());
        for (int src = 1; src < p; ++src) {
            recv(incoming, src, comm);
            accumulate(incoming, data, op);
        }
    }
    broadcast(data, 0, comm);
}

}  // namespace dist
