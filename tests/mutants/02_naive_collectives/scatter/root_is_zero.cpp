// It scatters from rank 0, whatever the root is.
// state: fail
// says: from root 1
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "scatter: root must be a rank of comm");
    if (comm.rank() != 0) {
        recv(out, 0, comm);
        return;
    }
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(in.size(), p, i);
        return in.subspan(bounds.begin, bounds.size());
    };
    std::ranges::copy(chunk(0), out.begin());
    for (int dst = 1; dst < p; ++dst) {
        send(chunk(dst), dst, comm);
    }
}

}  // namespace dist
