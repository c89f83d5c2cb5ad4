// Blocking calls in turn: receive a segment, send it on, receive the next. It keeps no two messages
// under way, and is right.
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"

namespace dist {

void ring_broadcast(std::span<float> data, int root, int segments, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "ring_broadcast: root must be a rank of comm");
    expects(segments >= 1, "ring_broadcast: segments must be at least 1");
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    const auto segment = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return data.subspan(c.begin, c.size());
    };

    for (int i = 0; i < segments; ++i) {
        if (r != root) {
            recv(segment(i), prev, comm);
        }
        if (next != root) {
            send(segment(i), next, comm);
        }
    }
}

}  // namespace dist
