// Passes the whole on in one message, whatever segments says.
// state: fail
// says: one message for each segment
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/ring_reduce.hpp"

namespace dist {

void ring_reduce(
    std::span<float> data, ReduceOp op, int root, int segments, const Communicator& comm
) {
    expects(0 <= root && root < comm.size(), "ring_reduce: root must be a rank of comm");
    expects(segments >= 1, "ring_reduce: segments must be at least 1");
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    std::vector<float> in(data.size());
    if (prev != root) {
        recv(in, prev, comm);
        accumulate(data, in, op);
    }
    if (r != root) {
        send(prev == root ? std::span<const float>(data) : std::span<const float>(in), next, comm);
    } else if (p > 1) {
        std::ranges::copy(in, data.begin());
    }
    if (r == root && op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
