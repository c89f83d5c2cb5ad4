// The segments travel in the opposite order; a copy leaves by MPI_Isend while the next comes in.
#include <algorithm>
#include <utility>
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
    const std::size_t longest = data.size() / static_cast<std::size_t>(segments) + 1;
    expects(std::in_range<int>(longest), "ring_reduce: a segment is too long for an int");
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    const auto segment = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return data.subspan(c.begin, c.size());
    };
    std::vector<float> out;
    MPI_Request departure = MPI_REQUEST_NULL;
    for (int i = segments - 1; i >= 0; --i) {
        const auto mine = segment(i);
        std::vector<float> in(mine.begin(), mine.end());
        if (prev != root) {
            MPI_CHECK(MPI_Recv(
                in.data(), static_cast<int>(in.size()), MPI_FLOAT, prev, 0, comm.handle(),
                MPI_STATUS_IGNORE
            ));
            accumulate(mine, in, op);
        }
        if (r == root) {
            std::ranges::copy(in, mine.begin());
            continue;
        }
        MPI_CHECK(MPI_Wait(&departure, MPI_STATUS_IGNORE));
        out = in;
        MPI_CHECK(MPI_Isend(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, 0, comm.handle(), &departure
        ));
    }
    MPI_CHECK(MPI_Wait(&departure, MPI_STATUS_IGNORE));
    if (r == root && op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
