// Every rank sends its chunk to each of the others: few bytes, and no ring.
// state: fail
// says: FAIL  ring_all_gather sends to the next rank and receives from the previous one
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

    for (int distance = 1; distance < p; ++distance) {
        const int dst = (r + distance) % p;
        const int src = (r - distance + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            chunk(r).data(), static_cast<int>(chunk(r).size()), MPI_FLOAT, dst, 0,      //
            chunk(src).data(), static_cast<int>(chunk(src).size()), MPI_FLOAT, src, 0,  //
            comm.handle(), MPI_STATUS_IGNORE
        ));
    }
}

}  // namespace dist
