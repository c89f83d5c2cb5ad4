// Rank 1 takes its chunk from whoever sends first. The root sends to rank 1 first of all, and then to the others, one of whom may be
// the next call's root: its message for rank 1 was sent after the first, and can be there before it. MPI keeps messages in order from
// one rank alone; SimGrid keeps them all in order, so that no order it tries goes wrong.
#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    expects(0 <= root && root < p, "scatter: root must be a rank of comm");
    if (r != root) {
        MPI_Status status;
        MPI_CHECK(MPI_Recv(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, r == 1 ? MPI_ANY_SOURCE : root, 0,
            comm.handle(), &status
        ));
        int n = 0;
        MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &n));
        if (static_cast<std::size_t>(n) != out.size()) {
            throw Error("scatter: a chunk of another length came");
        }
        return;
    }
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(in.size(), p, i);
        return in.subspan(bounds.begin, bounds.size());
    };
    expects(out.size() == chunk(root).size(), "scatter: out must be as long as this rank's chunk");
    std::vector<MPI_Request> requests(static_cast<std::size_t>(p), MPI_REQUEST_NULL);
    for (int dst = p - 1; dst >= 0; --dst) {
        if (dst != root) {
            const auto part = chunk(dst);
            MPI_CHECK(MPI_Isend(
                part.data(), static_cast<int>(part.size()), MPI_FLOAT, dst, 0, comm.handle(),
                &requests[static_cast<std::size_t>(dst)]
            ));
        }
    }
    std::ranges::copy(chunk(root), out.begin());
    MPI_CHECK(MPI_Waitall(p, requests.data(), MPI_STATUSES_IGNORE));
}

}  // namespace dist
