// Every rank looks at its own in, which only the root has.
// state: fail
// says: MPI_ERR_TRUNCATE
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "scatter: root must be a rank of comm");
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(in.size(), p, i);
        return in.subspan(bounds.begin, bounds.size());
    };
    if (comm.rank() != root) {
        recv(out.first(chunk(comm.rank()).size()), root, comm);
        return;
    }
    std::ranges::copy(chunk(root), out.begin());
    for (int dst = 0; dst < p; ++dst) {
        if (dst != root) {
            send(chunk(dst), dst, comm);
        }
    }
}

}  // namespace dist
