// The root takes messages as they come: a fast rank's next one in the place of a late rank's first.
// state: fail
// says: whose messages are not for the first
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "reduce: root must be a rank of comm");
    const int p = comm.size();
    if (comm.rank() != root) {
        send(data, root, comm);
        return;
    }
    std::vector<float> incoming(data.size());
    const int n = static_cast<int>(data.size());
    for (int i = 1; i < p; ++i) {
        MPI_CHECK(MPI_Recv(
            incoming.data(), n, MPI_FLOAT, MPI_ANY_SOURCE, 0, comm.handle(), MPI_STATUS_IGNORE
        ));
        accumulate(incoming, data, op);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
