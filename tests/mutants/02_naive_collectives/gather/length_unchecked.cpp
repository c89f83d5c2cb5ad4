// The root does not look how much came.
// state: fail
// says: rank 1's chunk of 6 floats has 3, and it sends 2
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
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            MPI_CHECK(MPI_Recv(
                chunk(src).data(), static_cast<int>(chunk(src).size()), MPI_FLOAT, src, 0,
                comm.handle(), MPI_STATUS_IGNORE
            ));
        }
    }
}

}  // namespace dist
