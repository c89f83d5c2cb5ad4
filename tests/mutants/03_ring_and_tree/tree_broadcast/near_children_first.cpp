// The other binomial tree, but each place serves the smallest part of it first: the largest starts
// last.
// state: fail
// says: FAIL  tree_broadcast is through after log2 p rounds
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
    for (int child = 1; child < d; child *= 2) {
        if (place + child < p) {
            send(data, rank_at(place + child), comm);
        }
    }
}

}  // namespace dist
