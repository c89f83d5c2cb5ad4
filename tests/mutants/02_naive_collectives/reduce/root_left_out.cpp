// The root adds up what comes in, and forgets what it holds itself.
// state: fail
// says: the root's own contribution is missing
#include <algorithm>
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
    bool first = true;
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            recv(incoming, src, comm);
            if (first) {
                std::copy(incoming.begin(), incoming.end(), data.begin());
            } else {
                accumulate(incoming, data, op);
            }
            first = false;
        }
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
