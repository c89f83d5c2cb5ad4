// Does not ask whether there is a place d further on: around the circle there is one, that has it.
// state: hang
// says: waits in MPI_Send
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
        if (place < d) {
            send(data, rank_at(place + d), comm);
        } else if (d <= place && place < 2 * d) {
            recv(data, rank_at(place - d), comm);
        }
    }
}

}  // namespace dist
