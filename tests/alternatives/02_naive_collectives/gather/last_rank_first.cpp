// The root hears the last rank first, and copies its own chunk in its turn.
#include <algorithm>

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
    for (int src = p - 1; src >= 0; --src) {
        if (src == root) {
            std::ranges::copy(in, chunk(src).begin());
        } else {
            recv(chunk(src), src, comm);
        }
    }
}

}  // namespace dist
