// The other binomial tree, of MPICH: a place receives from the one without its lowest bit, then
// serves the farthest first.
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace dist {

void tree_broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "tree_broadcast: root must be a rank of comm");
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    const auto rank_at = [&](int other) { return (root + other) % p; };

    int d = 1;
    while (d < p && (place & d) == 0) {
        d *= 2;
    }
    if (place > 0) {
        recv(data, rank_at(place - d), comm);
    }
    for (int child = d / 2; child > 0; child /= 2) {
        if (place + child < p) {
            send(data, rank_at(place + child), comm);
        }
    }
}

}  // namespace dist
