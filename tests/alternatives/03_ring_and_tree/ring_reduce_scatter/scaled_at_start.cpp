// MPI_Sendrecv with a tag for each step; the mean divides every contribution before anything is
// sent, and empty chunks are not sent at all.
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
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
    for (int s = 0; s < p - 1; ++s) {
        const auto out = chunk(r - 1 - s);
        const auto mine = chunk(r - 2 - s);
        std::vector<float> incoming(mine.size());
        const int next = out.empty() ? MPI_PROC_NULL : (r + 1) % p;
        const int prev = mine.empty() ? MPI_PROC_NULL : (r - 1 + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, s,            //
            incoming.data(), static_cast<int>(incoming.size()), MPI_FLOAT, prev, s,  //
            comm.handle(), MPI_STATUS_IGNORE
        ));
        accumulate(incoming, mine, op);
    }
}

}  // namespace dist
