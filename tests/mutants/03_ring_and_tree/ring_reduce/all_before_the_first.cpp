// Receives all segments before it passes on the first: right, and no pipeline.
// state: fail
// says: wait for all the data before it passes on the first segment
#include <algorithm>
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
    std::vector<float> in(data.begin(), data.end());
    const auto part = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return std::span(in).subspan(c.begin, c.size());
    };
    for (int i = 0; prev != root && i < segments; ++i) {
        recv(part(i), prev, comm);
    }
    if (prev != root) {
        accumulate(data, in, op);
    }
    for (int i = 0; r != root && i < segments; ++i) {
        send(part(i), next, comm);
    }
    if (r == root) {
        std::ranges::copy(in, data.begin());
    }
    if (r == root && op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
