// Receives once, then starts all sends and waits for them together.
#include <vector>

#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"

namespace dist {

void tree_broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "tree_broadcast: root must be a rank of comm");
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    const auto rank_at = [&](int other) { return (root + other) % p; };

    int d = 1;  // the first distance at which this place has the data
    while (d <= place) {
        d *= 2;
    }
    if (place > 0) {
        recv(data, rank_at(place - d / 2), comm);
    }
    std::vector<Request> sent;
    for (; place + d < p; d *= 2) {
        sent.push_back(isend(data, rank_at(place + d), comm));
    }
    wait_all(sent);
}

}  // namespace dist
