// Chunks are put one behind the other as they come, the root's first.
// state: fail
// says: belongs here, and this is
#include <algorithm>

#include <mpi.h>

#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void gather(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "gather: root must be a rank of comm");
    if (comm.rank() != root) {
        const int length = static_cast<int>(in.size());
        MPI_CHECK(MPI_Send(in.data(), length, MPI_FLOAT, root, 0, comm.handle()));
        return;
    }
    std::ranges::copy(in, out.begin());
    out = out.subspan(in.size());
    for (int i = 1; i < p; ++i) {
        MPI_Status status;
        const int room = static_cast<int>(out.size());
        MPI_CHECK(MPI_Recv(out.data(), room, MPI_FLOAT, MPI_ANY_SOURCE, 0, comm.handle(), &status));
        int received = 0;
        MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
        out = out.subspan(static_cast<std::size_t>(received));
    }
}

}  // namespace dist
