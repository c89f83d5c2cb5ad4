#include "exercises/03_ring_and_tree/ring_broadcast.hpp"

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"

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

    // in turn i segment i comes in and the one before it leaves; MPI_PROC_NULL is nobody
    std::span<float> out;
    for (int i = 0; i <= segments; ++i) {
        const std::span<float> in = i < segments ? segment(i) : std::span<float>();
        const int src = i < segments && r != root ? prev : MPI_PROC_NULL;
        const int dst = i > 0 && next != root ? next : MPI_PROC_NULL;
        MPI_CHECK(MPI_Sendrecv(
            out.data(), mpi_count(out.size()), MPI_FLOAT, dst, 0,  //
            in.data(), mpi_count(in.size()), MPI_FLOAT, src, 0,    //
            comm.handle(), MPI_STATUS_IGNORE
        ));
        out = in;
    }
}

}  // namespace dist
