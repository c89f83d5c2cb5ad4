// It broadcasts from rank 0, whatever the root is.
// state: fail
// says: nothing was written
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "broadcast: root must be a rank of comm");
    if (comm.rank() != 0) {
        recv(data, 0, comm);
        return;
    }
    for (int dst = 0; dst < comm.size(); ++dst) {
        if (dst != 0) {
            send(data, dst, comm);
        }
    }
}

}  // namespace dist
