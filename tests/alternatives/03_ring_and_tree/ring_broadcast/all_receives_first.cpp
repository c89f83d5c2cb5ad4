// All receives are posted at the start; each segment leaves as soon as it is here, by MPI_Isend.
#include <utility>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"

namespace dist {

void ring_broadcast(std::span<float> data, int root, int segments, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "ring_broadcast: root must be a rank of comm");
    expects(segments >= 1, "ring_broadcast: segments must be at least 1");
    const std::size_t longest = data.size() / static_cast<std::size_t>(segments) + 1;
    expects(std::in_range<int>(longest), "ring_broadcast: a segment is too long for an int");
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    const auto segment = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return data.subspan(c.begin, c.size());
    };
    const auto s = static_cast<std::size_t>(segments);
    std::vector<MPI_Request> arrivals(s, MPI_REQUEST_NULL);
    std::vector<MPI_Request> departures(s, MPI_REQUEST_NULL);
    for (std::size_t i = 0; r != root && i < s; ++i) {
        const auto in = segment(static_cast<int>(i));
        MPI_CHECK(MPI_Irecv(
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, prev, 1, comm.handle(), &arrivals[i]
        ));
    }
    for (std::size_t i = 0; i < s; ++i) {
        MPI_CHECK(MPI_Wait(&arrivals[i], MPI_STATUS_IGNORE));
        const auto out = segment(static_cast<int>(i));
        if (next != root) {
            MPI_CHECK(MPI_Isend(
                out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, 1, comm.handle(),
                &departures[i]
            ));
        }
    }
    MPI_CHECK(MPI_Waitall(segments, departures.data(), MPI_STATUSES_IGNORE));
}

}  // namespace dist
