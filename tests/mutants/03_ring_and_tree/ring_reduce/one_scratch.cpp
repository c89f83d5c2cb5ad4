// One buffer for what leaves and what comes in: each segment overwrites the one before it.
// state: fail
// says: is what leaves overwritten by what comes in
#include <array>
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
    const auto segment = [&](int i) {
        const Chunk c = chunk_bounds(data.size(), segments, i);
        return data.subspan(c.begin, c.size());
    };
    const bool starts = prev == root;
    std::vector<float> scratch(data.size() / static_cast<std::size_t>(segments) + 1);
    std::span<const float> out;
    for (int i = 0; i <= segments; ++i) {
        const auto mine = i < segments ? segment(i) : std::span<float>();
        const auto in = std::span(scratch).first(mine.size());
        const int src = i < segments && !starts ? prev : MPI_PROC_NULL;
        const int dst = i > 0 && r != root ? next : MPI_PROC_NULL;
        std::array<MPI_Request, 2> requests{};
        MPI_CHECK(MPI_Irecv(
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, src, 0, comm.handle(), &requests[0]
        ));
        MPI_CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        MPI_CHECK(MPI_Isend(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, dst, 0, comm.handle(), &requests[1]
        ));
        MPI_CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        if (starts) {
            out = mine;
        } else if (r == root) {
            accumulate(in, mine, op);
        } else {
            accumulate(mine, in, op);
            out = in;
        }
    }
    if (r == root && op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
