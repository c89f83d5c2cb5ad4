// The root has all its receives under way together, and looks at the lengths afterwards.
#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void gather(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "gather: root must be a rank of comm");
    if (comm.rank() != root) {
        send(in, root, comm);
        return;
    }
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(out.size(), p, i);
        return out.subspan(bounds.begin, bounds.size());
    };
    expects(in.size() == chunk(root).size(), "gather: in must be as long as this rank's chunk");
    std::ranges::copy(in, chunk(root).begin());
    const auto ranks = static_cast<std::size_t>(p);
    std::vector<MPI_Request> requests(ranks, MPI_REQUEST_NULL);
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            MPI_CHECK(MPI_Irecv(
                chunk(src).data(), static_cast<int>(chunk(src).size()), MPI_FLOAT, src, 0,
                comm.handle(), &requests[static_cast<std::size_t>(src)]
            ));
        }
    }
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            MPI_Status status;
            int received = 0;
            MPI_CHECK(MPI_Wait(&requests[static_cast<std::size_t>(src)], &status));
            MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
            if (static_cast<std::size_t>(received) != chunk(src).size()) {
                throw Error("gather: a chunk has not the length it must have");
            }
        }
    }
}

}  // namespace dist
