// Every second place sends to its neighbour, every fourth to the one two on, ...: in this order most
// of them do not have the data yet.
// state: fail
// says: nothing was written
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace dist {

void tree_broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "tree_broadcast: root must be a rank of comm");
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    const auto rank_at = [&](int other) { return (root + other) % p; };

    // before the round of distance d, the places below d have the data
    for (int d = 1; d < p; d *= 2) {
        if (place % (2 * d) == 0 && place + d < p) {
            send(data, rank_at(place + d), comm);
        } else if (place % (2 * d) == d) {
            recv(data, rank_at(place - d), comm);
        }
    }
}

}  // namespace dist
