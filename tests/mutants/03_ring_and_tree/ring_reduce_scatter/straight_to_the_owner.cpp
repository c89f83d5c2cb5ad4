// Every rank sends each chunk straight to the rank that is to finish it: few bytes, and no ring.
// state: fail
// says: FAIL  ring_reduce_scatter sends to the next rank and receives from the previous one
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
    std::vector<float> scratch(data.size() / static_cast<std::size_t>(p) + 1);

    for (int distance = 1; distance < p; ++distance) {
        const int dst = (r + distance) % p;
        const int src = (r - distance + p) % p;
        const auto incoming = std::span(scratch).first(chunk(r).size());
        MPI_CHECK(MPI_Sendrecv(
            chunk(dst).data(), static_cast<int>(chunk(dst).size()), MPI_FLOAT, dst, 0,  //
            incoming.data(), static_cast<int>(incoming.size()), MPI_FLOAT, src, 0,      //
            comm.handle(), MPI_STATUS_IGNORE
        ));
        accumulate(incoming, chunk(r), op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r), 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
