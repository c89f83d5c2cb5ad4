// The sum itself travels: what comes in, and this rank's chunk added to it, leaves in the next
// step. data is written once, at the end. MPI_Irecv, MPI_Isend, MPI_Waitall.
#include <algorithm>
#include <array>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk c = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(c.begin, c.size());
    };
    const auto first = chunk(r - 1);
    std::vector<float> outgoing(first.begin(), first.end());
    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r - 2 - s);
        std::vector<float> incoming(mine.size());
        std::array<MPI_Request, 2> requests{};
        MPI_CHECK(MPI_Irecv(
            incoming.data(), static_cast<int>(incoming.size()), MPI_FLOAT, (r - 1 + p) % p, 3,
            comm.handle(), &requests[0]
        ));
        MPI_CHECK(MPI_Isend(
            outgoing.data(), static_cast<int>(outgoing.size()), MPI_FLOAT, (r + 1) % p, 3,
            comm.handle(), &requests[1]
        ));
        MPI_CHECK(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
        accumulate(mine, incoming, op);
        outgoing = incoming;
    }
    if (op == ReduceOp::mean) {
        scale(outgoing, 1.0F / static_cast<float>(p));
    }
    std::ranges::copy(outgoing, chunk(r).begin());
}

}  // namespace dist
