// The root has all its messages under way together.
#include <vector>

#include <mpi.h>

#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void broadcast(std::span<float> data, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "broadcast: root must be a rank of comm");
    const int n = static_cast<int>(data.size());
    if (comm.rank() != root) {
        MPI_CHECK(MPI_Recv(data.data(), n, MPI_FLOAT, root, 0, comm.handle(), MPI_STATUS_IGNORE));
        return;
    }
    std::vector<MPI_Request> requests(static_cast<std::size_t>(comm.size()), MPI_REQUEST_NULL);
    for (int dst = 0; dst < comm.size(); ++dst) {
        if (dst != root) {
            MPI_Request& request = requests[static_cast<std::size_t>(dst)];
            MPI_CHECK(MPI_Isend(data.data(), n, MPI_FLOAT, dst, 0, comm.handle(), &request));
        }
    }
    MPI_CHECK(MPI_Waitall(comm.size(), requests.data(), MPI_STATUSES_IGNORE));
}

}  // namespace dist
