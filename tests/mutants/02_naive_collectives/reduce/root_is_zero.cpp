// It reduces to rank 0, whatever the root is.
// state: fail
// says: to root 1
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "reduce: root must be a rank of comm");
    const int p = comm.size();
    if (comm.rank() != 0) {
        send(data, 0, comm);
        return;
    }
    std::vector<float> incoming(data.size());
    for (int src = 1; src < p; ++src) {
        recv(incoming, src, comm);
        accumulate(incoming, data, op);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
