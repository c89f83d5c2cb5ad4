#include "exercises/03_ring_and_tree/ring_reduce.hpp"

#include <utility>

#include <mpi.h>

#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"

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
    const bool starts = prev == root;  // also a rank alone: nothing comes in
    const std::size_t longest = chunk_bounds(data.size(), segments, 0).size();
    mpi_count(longest);  // refused before the two buffers are made
    Buffer arriving(longest);
    Buffer leaving(longest);

    // in turn i segment i comes in, as far as it is reduced, and the one before it leaves
    std::span<const float> out;
    for (int i = 0; i <= segments; ++i) {
        const Chunk c = i < segments ? chunk_bounds(data.size(), segments, i) : Chunk();
        const auto mine = data.subspan(c.begin, c.size());
        const auto in = arriving.span().first(c.size());
        const int src = i < segments && !starts ? prev : MPI_PROC_NULL;
        const int dst = i > 0 && r != root ? next : MPI_PROC_NULL;
        MPI_CHECK(MPI_Sendrecv(
            out.data(), mpi_count(out.size()), MPI_FLOAT, dst, 0,  //
            in.data(), mpi_count(in.size()), MPI_FLOAT, src, 0,    //
            comm.handle(), MPI_STATUS_IGNORE
        ));
        if (starts) {
            out = mine;
        } else if (r == root) {
            accumulate(in, mine, op);
        } else {
            accumulate(mine, in, op);  // into scratch: data stays as it was
            out = in;
        }
        std::swap(arriving, leaving);  // what is to leave stays, while the next comes in beside it
    }
    if (r == root && op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
