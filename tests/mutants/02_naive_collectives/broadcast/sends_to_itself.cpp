// The root sends to every rank, itself included, and waits for itself.
// state: hang
// says: MPI_Send(to rank 0
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "broadcast: root must be a rank of comm");
    if (comm.rank() != root) {
        recv(data, root, comm);
        return;
    }
    for (int dst = 0; dst < comm.size(); ++dst) {
        send(data, dst, comm);
    }
}

}  // namespace dist
