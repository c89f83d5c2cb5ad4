// The root starts, and waits for its own data to come round.
// state: fail
// says: the root's own contribution is in it twice
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
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
    const auto segment = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return data.subspan(c.begin, c.size());
    };

    for (int i = 0; p > 1 && i < segments; ++i) {
        const auto mine = segment(i);
        std::vector<float> in(mine.size());
        if (r == root) {
            send(mine, next, comm);
            recv(in, prev, comm);
            accumulate(in, mine, op);
        } else {
            recv(in, prev, comm);
            accumulate(mine, in, op);
            send(in, next, comm);
        }
    }
    if (r == root && op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
