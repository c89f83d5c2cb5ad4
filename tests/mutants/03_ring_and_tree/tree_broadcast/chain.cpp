// Each place passes the data on to the next one: one message to each, and p - 1 rounds.
// state: fail
// says: everyone who has the data sends it to one who has not
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace dist {

void tree_broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "tree_broadcast: root must be a rank of comm");
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    const auto rank_at = [&](int other) { return (root + other) % p; };

    if (place > 0) {
        recv(data, rank_at(place - 1), comm);
    }
    if (place + 1 < p) {
        send(data, rank_at(place + 1), comm);
    }
}

}  // namespace dist
