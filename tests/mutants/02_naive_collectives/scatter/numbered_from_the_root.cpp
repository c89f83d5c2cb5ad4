// Chunk 0 goes to the root, chunk 1 to the rank after it: right from root 0 only.
// state: fail
// says: from root 1 to 3 ranks
// says: belongs here, and this is
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void scatter(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "scatter: root must be a rank of comm");
    if (comm.rank() != root) {
        recv(out, root, comm);
        return;
    }
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(in.size(), p, (i - root + p) % p);
        return in.subspan(bounds.begin, bounds.size());
    };
    std::ranges::copy(chunk(root).first(std::min(chunk(root).size(), out.size())), out.begin());
    for (int dst = 0; dst < p; ++dst) {
        if (dst != root) {
            send(chunk(dst), dst, comm);
        }
    }
}

}  // namespace dist
