// Only rank 0 gets the result: a reduce, not an all-reduce.
// state: fail
// says: that is this rank's own contribution
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"

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
        if (op == ReduceOp::mean) {
            scale(data, 1.0F / static_cast<float>(p));
        }
    }
}

}  // namespace dist
