// Two buffers as long as data, where two segments do: all receives are posted at the start.
// state: fail in needs memory for two segments, however long data is
// says: beside data, where at most
#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/03_ring_and_tree/ring_reduce.hpp"

namespace dist {

void ring_reduce(
    std::span<float> data, ReduceOp op, int root, int segments, const Communicator& comm
) {
    expects(0 <= root && root < comm.size(), "ring_reduce: root must be a rank of comm");
    expects(segments >= 1, "ring_reduce: segments must be at least 1");
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    std::vector<float> travelling(data.begin(), data.end());
    if (op == ReduceOp::mean) {
        scale(travelling, 1.0F / static_cast<float>(p));
    }
    const auto part = [&](std::span<float> all, int i) {
        const Chunk c = chunk_bounds(all.size(), segments, i);
        return all.subspan(c.begin, c.size());
    };
    const auto s = static_cast<std::size_t>(segments);
    std::vector<float> incoming(data.size());
    std::vector<MPI_Request> arrivals(s, MPI_REQUEST_NULL);
    std::vector<MPI_Request> departures(s, MPI_REQUEST_NULL);
    for (std::size_t i = 0; prev != root && i < s; ++i) {
        const auto in = part(incoming, static_cast<int>(i));
        MPI_CHECK(MPI_Irecv(
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, prev, 1, comm.handle(), &arrivals[i]
        ));
    }
    for (std::size_t i = 0; i < s; ++i) {
        MPI_CHECK(MPI_Wait(&arrivals[i], MPI_STATUS_IGNORE));
        const auto out = part(travelling, static_cast<int>(i));
        if (prev != root) {
            accumulate(part(incoming, static_cast<int>(i)), out, op);
        }
        if (r != root) {
            MPI_CHECK(MPI_Isend(
                out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, 1, comm.handle(),
                &departures[i]
            ));
        }
    }
    MPI_CHECK(MPI_Waitall(segments, departures.data(), MPI_STATUSES_IGNORE));
    if (r == root) {
        std::ranges::copy(travelling, data.begin());
    }
}

}  // namespace dist
