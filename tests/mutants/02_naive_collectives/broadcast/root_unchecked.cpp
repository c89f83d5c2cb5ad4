// A root that is no rank is not refused.
// state: fail
// says: every rank must refuse it
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> data, int root, const Communicator& comm) {
    if (comm.rank() != root) {
        recv(data, root, comm);
        return;
    }
    for (int dst = 0; dst < comm.size(); ++dst) {
        if (dst != root) {
            send(data, dst, comm);
        }
    }
}

}  // namespace dist
