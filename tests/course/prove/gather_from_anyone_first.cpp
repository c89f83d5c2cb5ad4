// The root hears whoever comes first, and then the ranks after rank 1 by name: as if rank 1 had been first. Where it was not,
// it waits for one that it has heard already.
#include <algorithm>

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
    bool first = true;
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            const auto to = chunk(src);
            MPI_CHECK(MPI_Recv(
                to.data(), static_cast<int>(to.size()), MPI_FLOAT, first ? MPI_ANY_SOURCE : src, 0,
                comm.handle(), MPI_STATUS_IGNORE
            ));
            first = false;
        }
    }
}

}  // namespace dist
