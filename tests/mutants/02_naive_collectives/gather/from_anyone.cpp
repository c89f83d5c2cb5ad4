// The root takes chunks as they come, each to its sender's place: also a fast rank's next one.
// state: fail
// says: whose messages are not for the first
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
    std::ranges::copy(in, chunk(root).begin());
    for (int i = 1; i < p; ++i) {
        MPI_Status status;
        MPI_CHECK(MPI_Probe(MPI_ANY_SOURCE, 0, comm.handle(), &status));
        recv(chunk(status.MPI_SOURCE), status.MPI_SOURCE, comm);
    }
}

}  // namespace dist
