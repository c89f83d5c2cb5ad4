// The root receives into its own data: its contribution is gone before anything is added.
// state: fail
// says: which is lost: use a buffer
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
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            recv(data, src, comm);
            accumulate(data, data, op);
        }
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
