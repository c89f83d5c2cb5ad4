#include "exercises/02_naive_collectives/reduce.hpp"

#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "reduce: root must be a rank of comm");
    if (comm.rank() != root) {
        send(data, root, comm);
        return;
    }
    Buffer incoming(data.size());
    // before each step, data holds the reduction of the root and of the ranks heard so far
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            recv(incoming.span(), src, comm);
            accumulate(incoming.span(), data, op);
        }
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
