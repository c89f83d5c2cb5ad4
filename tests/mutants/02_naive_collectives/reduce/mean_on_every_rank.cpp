// Every rank divides its data by p, not only the root.
// state: fail
// says: that is data divided by p
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "reduce: root must be a rank of comm");
    const int p = comm.size();
    if (comm.rank() != root) {
        send(data, root, comm);
    } else {
        std::vector<float> incoming(data.size());
        for (int src = 0; src < p; ++src) {
            if (src != root) {
                recv(incoming, src, comm);
                accumulate(incoming, data, op);
            }
        }
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
