// Passes the whole on in one message, whatever segments says.
// state: fail
// says: one message for each segment
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
    if (r != root) {
        recv(data, prev, comm);
    }
    if (next != root) {
        send(data, next, comm);
    }
}

}  // namespace dist
