// "Only the root sends, so who it is need not be said." In a row of two calls with different roots the second root's message
// may be there first: rank 1 then has the chunk of the other call.
#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "scatter: root must be a rank of comm");
    if (comm.rank() != root) {
        MPI_Status status;
        MPI_CHECK(MPI_Recv(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, MPI_ANY_SOURCE, 0, comm.handle(),
            &status
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
    for (int dst = 0; dst < p; ++dst) {
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
