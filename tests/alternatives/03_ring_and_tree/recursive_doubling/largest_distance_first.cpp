// MPI_Sendrecv, the largest distance first, and the mean divided before anything is sent.
#include <vector>

#include <mpi.h>

#include "exercises/03_ring_and_tree/recursive_doubling.hpp"

namespace dist {

void recursive_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const int n = static_cast<int>(data.size());
    int power = 1;
    while (2 * power <= p) {
        power *= 2;
    }
    std::vector<float> incoming(data.size());
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
    if (r >= power) {
        MPI_CHECK(MPI_Send(data.data(), n, MPI_FLOAT, r - power, 1, comm.handle()));
        MPI_CHECK(
            MPI_Recv(data.data(), n, MPI_FLOAT, r - power, 2, comm.handle(), MPI_STATUS_IGNORE)
        );
        return;
    }
    if (r + power < p) {
        MPI_CHECK(
            MPI_Recv(incoming.data(), n, MPI_FLOAT, r + power, 1, comm.handle(), MPI_STATUS_IGNORE)
        );
        accumulate(incoming, data, op);
    }
    for (int d = power / 2; d > 0; d /= 2) {
        MPI_CHECK(MPI_Sendrecv(
            data.data(), n, MPI_FLOAT, r ^ d, 0, incoming.data(), n, MPI_FLOAT, r ^ d, 0,
            comm.handle(), MPI_STATUS_IGNORE
        ));
        accumulate(incoming, data, op);
    }
    if (r + power < p) {
        MPI_CHECK(MPI_Send(data.data(), n, MPI_FLOAT, r + power, 2, comm.handle()));
    }
}

}  // namespace dist
