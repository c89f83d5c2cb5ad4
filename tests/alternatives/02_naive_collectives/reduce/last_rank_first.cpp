// The root hears the ranks in the reverse order, and adds into a copy.
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
    std::vector<float> total(data.begin(), data.end());
    std::vector<float> incoming(data.size());
    for (int s = p - 1; s > 0; --s) {
        recv(incoming, (root + s) % p, comm);
        accumulate(incoming, total, op);
    }
    std::copy(total.begin(), total.end(), data.begin());
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
