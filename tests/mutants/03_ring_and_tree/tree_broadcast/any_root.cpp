// Does not look at root: one that is no rank is taken modulo p.
// state: fail
// says: every rank must refuse it
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace dist {

void tree_broadcast(std::span<float> data, int root, const Communicator& comm) {
    const int p = comm.size();
    const int place = ((comm.rank() - root) % p + p) % p;
    const auto rank_at = [&](int other) { return ((root + other) % p + p) % p; };

    // before the round of distance d, the places below d have the data
    for (int d = 1; d < p; d *= 2) {
        if (place < d && place + d < p) {
            send(data, rank_at(place + d), comm);
        } else if (d <= place && place < 2 * d) {
            recv(data, rank_at(place - d), comm);
        }
    }
}

}  // namespace dist
