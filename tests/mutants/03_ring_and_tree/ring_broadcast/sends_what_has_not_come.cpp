// In turn i it sends segment i, which is only just coming in.
// state: fail
// says: it passed on a segment that had not come yet
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"

namespace dist {

void ring_broadcast(std::span<float> data, int root, int segments, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "ring_broadcast: root must be a rank of comm");
    expects(segments >= 1, "ring_broadcast: segments must be at least 1");
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    const auto segment = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return data.subspan(c.begin, c.size());
    };

    for (int i = 0; i < segments; ++i) {
        const std::span<float> in = segment(i);
        const std::vector<float> out(in.begin(), in.end());
        MPI_CHECK(MPI_Sendrecv(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT,
            next == root ? MPI_PROC_NULL : next, 0, in.data(), static_cast<int>(in.size()),
            MPI_FLOAT, r == root ? MPI_PROC_NULL : prev, 0, comm.handle(), MPI_STATUS_IGNORE
        ));
    }
}

}  // namespace dist
