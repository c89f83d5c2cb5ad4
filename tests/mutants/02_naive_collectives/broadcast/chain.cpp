// The data is passed from rank to rank: right, but it is another algorithm.
// state: fail
// says: it sends to each of the others
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "broadcast: root must be a rank of comm");
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    if (place > 0) {
        recv(data, (comm.rank() - 1 + p) % p, comm);
    }
    if (place < p - 1) {
        send(data, (comm.rank() + 1) % p, comm);
    }
}

}  // namespace dist
