// MPI_Sendrecv with a tag for each step; empty chunks are not sent at all.
#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"

namespace dist {

void ring_all_gather(std::span<float> data, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk c = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(c.begin, c.size());
    };

    for (int s = 0; s < p - 1; ++s) {
        const auto out = chunk(r - s);
        const auto in = chunk(r - 1 - s);
        const int next = out.empty() ? MPI_PROC_NULL : (r + 1) % p;
        const int prev = in.empty() ? MPI_PROC_NULL : (r - 1 + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, s,  //
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, prev, s,    //
            comm.handle(), MPI_STATUS_IGNORE
        ));
    }
}

}  // namespace dist
