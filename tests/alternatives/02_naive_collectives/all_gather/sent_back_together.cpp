// Gathered, and sent back to all at the same time.
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/all_gather.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    gather(in, out, 0, comm);
    if (comm.rank() != 0) {
        recv(out, 0, comm);
        return;
    }
    const int n = static_cast<int>(out.size());
    std::vector<MPI_Request> requests(static_cast<std::size_t>(comm.size()), MPI_REQUEST_NULL);
    for (int dst = 1; dst < comm.size(); ++dst) {
        MPI_Request& request = requests[static_cast<std::size_t>(dst)];
        MPI_CHECK(MPI_Isend(out.data(), n, MPI_FLOAT, dst, 0, comm.handle(), &request));
    }
    MPI_CHECK(MPI_Waitall(comm.size(), requests.data(), MPI_STATUSES_IGNORE));
}

}  // namespace dist
