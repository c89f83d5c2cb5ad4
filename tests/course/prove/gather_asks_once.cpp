// Asks whether the first block has come, and takes it for an error if so: wrong where a rank is early.
#include <algorithm>
#include <stdexcept>
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
    std::vector<MPI_Request> requests(static_cast<std::size_t>(p), MPI_REQUEST_NULL);
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            const auto to = chunk(src);
            MPI_CHECK(MPI_Irecv(
                to.data(), static_cast<int>(to.size()), MPI_FLOAT, src, 0, comm.handle(),
                &requests[static_cast<std::size_t>(src)]
            ));
        }
    }
    int early = 0;
    MPI_Request& first = requests[root == 0 && p > 1 ? 1 : 0];
    if (first != MPI_REQUEST_NULL) {
        MPI_CHECK(MPI_Test(&first, &early, MPI_STATUS_IGNORE));
    }
    MPI_CHECK(MPI_Waitall(p, requests.data(), MPI_STATUSES_IGNORE));
    if (early != 0) {
        throw std::runtime_error("a rank was early");
    }
}

}  // namespace dist
