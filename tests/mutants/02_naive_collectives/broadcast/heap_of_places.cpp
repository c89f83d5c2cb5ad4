// A tree in which the children of place i are 2 i + 1 and 2 i + 2, as in a heap: other ranks than the root send.
// state: fail in sends one message to each rank
// says: The root is the only one that sends
#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "broadcast: root must be a rank of comm");
    const auto place_of = [&](int rank) { return rank == 0 ? root : rank == root ? 0 : rank; };
    const int place = place_of(comm.rank());
    if (place > 0) {
        recv(data, place_of((place - 1) / 2), comm);
    }
    for (const int child : {2 * place + 1, 2 * place + 2}) {
        if (child < comm.size()) {
            send(data, place_of(child), comm);
        }
    }
}

}  // namespace dist
