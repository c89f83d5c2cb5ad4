// All receives are posted before the first send; each chunk leaves as soon as it is there.
#include <vector>

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
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    std::vector<MPI_Request> arrivals(static_cast<std::size_t>(p - 1));
    std::vector<MPI_Request> departures(static_cast<std::size_t>(p - 1));
    for (int s = 0; s < p - 1; ++s) {
        const auto in = chunk(r - 1 - s);
        MPI_CHECK(MPI_Irecv(
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, prev, s, comm.handle(),
            &arrivals[static_cast<std::size_t>(s)]
        ));
    }
    for (int s = 0; s < p - 1; ++s) {
        if (s > 0) {
            MPI_CHECK(MPI_Wait(&arrivals[static_cast<std::size_t>(s - 1)], MPI_STATUS_IGNORE));
        }
        const auto out = chunk(r - s);
        MPI_CHECK(MPI_Isend(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, s, comm.handle(),
            &departures[static_cast<std::size_t>(s)]
        ));
    }
    MPI_CHECK(MPI_Waitall(p - 1, arrivals.data(), MPI_STATUSES_IGNORE));
    MPI_CHECK(MPI_Waitall(p - 1, departures.data(), MPI_STATUSES_IGNORE));
}

}  // namespace dist
