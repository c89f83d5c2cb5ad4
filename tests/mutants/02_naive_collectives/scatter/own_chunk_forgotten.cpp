// The root serves the others, and leaves its own out as it was.
// state: fail
// says: nothing was written
// says: element 0 of rank 0's in belongs here
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
        const Chunk bounds = chunk_bounds(in.size(), p, i);
        return in.subspan(bounds.begin, bounds.size());
    };
    for (int dst = 0; dst < p; ++dst) {
        if (dst != root) {
            send(chunk(dst), dst, comm);
        }
    }
}

}  // namespace dist
