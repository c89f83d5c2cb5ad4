// The root sends every segment to every rank: right, and no pipeline.
// state: fail
// says: FAIL  ring_broadcast sends each segment once over each link
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"

namespace dist {

void ring_broadcast(std::span<float> data, int root, int segments, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "ring_broadcast: root must be a rank of comm");
    expects(segments >= 1, "ring_broadcast: segments must be at least 1");
    const auto segment = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return data.subspan(c.begin, c.size());
    };

    for (int i = 0; i < segments; ++i) {
        if (comm.rank() != root) {
            recv(segment(i), root, comm);
            continue;
        }
        for (int dst = 0; dst < comm.size(); ++dst) {
            if (dst != root) {
                send(segment(i), dst, comm);
            }
        }
    }
}

}  // namespace dist
