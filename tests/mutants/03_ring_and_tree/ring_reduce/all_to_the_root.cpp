// Everyone sends every segment to the root: right, and no pipeline.
// state: fail
// says: FAIL  ring_reduce sends each segment once over each link
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
    const auto segment = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return data.subspan(c.begin, c.size());
    };

    for (int i = 0; i < segments; ++i) {
        std::vector<float> in(segment(i).size());
        if (r != root) {
            send(segment(i), root, comm);
            continue;
        }
        for (int src = 0; src < p; ++src) {
            if (src != root) {
                recv(in, src, comm);
                accumulate(in, segment(i), op);
            }
        }
    }
    if (r == root && op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
