// Every rank puts its own chunk into its out; only the root's is an output.
// state: fail
// says: only the root's out is
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void gather(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "gather: root must be a rank of comm");
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(out.size(), p, i);
        return out.subspan(bounds.begin, bounds.size());
    };
    std::ranges::copy(in, chunk(comm.rank()).begin());
    if (comm.rank() != root) {
        send(in, root, comm);
        return;
    }
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            recv(chunk(src), src, comm);
        }
    }
}

}  // namespace dist
