// Blocking calls in turn: receive a segment, add, send it on. It keeps no two messages under way,
// and is right.
#include <algorithm>
#include <utility>
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
    const std::size_t longest = data.size() / static_cast<std::size_t>(segments) + 1;
    expects(std::in_range<int>(longest), "ring_reduce: a segment is too long for an int");
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;

    for (int i = 0; i < segments; ++i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        const auto mine = data.subspan(c.begin, c.size());
        std::vector<float> partial(mine.begin(), mine.end());
        std::vector<float> incoming(mine.size());
        if (prev != root) {
            recv(incoming, prev, comm);
            accumulate(incoming, partial, op);
        }
        if (r != root) {
            send(partial, next, comm);
        } else {
            std::ranges::copy(partial, mine.begin());
        }
    }
    if (r == root && op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
