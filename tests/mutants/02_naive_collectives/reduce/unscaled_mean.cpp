// The mean is not divided by p.
// state: fail
// says: that is the sum: mean divides it by p, once
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "reduce: root must be a rank of comm");
    const int p = comm.size();
    if (comm.rank() != root) {
        send(data, root, comm);
        return;
    }
    std::vector<float> incoming(data.size());
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            recv(incoming, src, comm);
            accumulate(incoming, data, op);
        }
    }
}

}  // namespace dist
