// A root that is no rank is not refused.
// state: fail
// says: every rank must refuse it
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    if (comm.rank() != root) {
        recv(out, root, comm);
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
