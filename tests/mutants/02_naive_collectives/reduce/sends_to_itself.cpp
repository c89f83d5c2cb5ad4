// The root sends as well, to itself, and waits for itself.
// state: hang
// says: waits in MPI_Send(to rank 0
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "reduce: root must be a rank of comm");
    const int p = comm.size();
    send(data, root, comm);
    if (comm.rank() != root) {
        return;
    }
    std::vector<float> incoming(data.size());
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            recv(incoming, src, comm);
            accumulate(incoming, data, op);
        }
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
