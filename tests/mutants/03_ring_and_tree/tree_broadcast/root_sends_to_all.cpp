// The root sends to everyone, as in chapter 02: right, and p - 1 rounds.
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

    for (int other = 1; other < p; ++other) {
        if (place == 0) {
            send(data, rank_at(other), comm);
        } else if (place == other) {
            recv(data, root, comm);
        }
    }
}

}  // namespace dist
