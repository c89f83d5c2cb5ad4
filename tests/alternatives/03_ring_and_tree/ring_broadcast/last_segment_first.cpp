// The segments travel in the opposite order; the next receive is posted before a segment is sent.
#include <utility>

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

    MPI_Request arrival = MPI_REQUEST_NULL;
    const auto receive = [&](int i) {
        const auto in = segment(i);
        MPI_CHECK(MPI_Irecv(
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, prev, 0, comm.handle(), &arrival
        ));
    };
    if (r != root) {
        receive(segments - 1);
    }
    for (int i = segments - 1; i >= 0; --i) {
        MPI_CHECK(MPI_Wait(&arrival, MPI_STATUS_IGNORE));
        if (r != root && i > 0) {
            receive(i - 1);
        }
        if (next != root) {
            const auto out = segment(i);
            MPI_CHECK(MPI_Send(
                out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, 0, comm.handle()
            ));
        }
    }
}

}  // namespace dist
