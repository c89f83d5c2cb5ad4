// As MPICH does it: of the first 2(p - q) ranks, each even one hands its data to the odd one after
// it, and the others are numbered anew. MPI_Irecv and MPI_Isend, waited for together.
#include <array>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
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
    const int rest = p - power;
    const bool paired = r < 2 * rest;
    std::vector<float> incoming(data.size());
    if (paired && r % 2 == 0) {
        send(data, r + 1, comm);
        recv(data, r + 1, comm);
        return;
    }
    if (paired) {
        recv(incoming, r - 1, comm);
        accumulate(incoming, data, op);
    }
    const int place = paired ? r / 2 : r - rest;
    for (int d = 1; d < power; d *= 2) {
        const int other = place ^ d;
        const int partner = other < rest ? 2 * other + 1 : other + rest;
        std::array<MPI_Request, 2> both = {};
        MPI_CHECK(MPI_Irecv(incoming.data(), n, MPI_FLOAT, partner, 0, comm.handle(), &both[0]));
        MPI_CHECK(MPI_Isend(data.data(), n, MPI_FLOAT, partner, 0, comm.handle(), &both[1]));
        MPI_CHECK(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE));
        accumulate(incoming, data, op);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
    if (paired) {
        send(data, r - 1, comm);
    }
}

}  // namespace dist
