// Nobody looks how much came: a chunk that is too short leaves the rest as it was.
// state: fail
// says: the last rank's out has 4
#include <algorithm>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "scatter: root must be a rank of comm");
    if (comm.rank() != root) {
        const int n = static_cast<int>(out.size());
        MPI_CHECK(MPI_Recv(out.data(), n, MPI_FLOAT, root, 0, comm.handle(), MPI_STATUS_IGNORE));
        return;
    }
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(in.size(), p, i);
        return in.subspan(bounds.begin, bounds.size());
    };
    expects(out.size() == chunk(root).size(), "scatter: out must be as long as this rank's chunk");
    std::ranges::copy(chunk(root), out.begin());
    for (int dst = 0; dst < p; ++dst) {
        if (dst != root) {
            send(chunk(dst), dst, comm);
        }
    }
}

}  // namespace dist
