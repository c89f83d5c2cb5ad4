// The root collects from the others, and leaves its own chunk out.
// state: fail
// says: nothing was written
// says: element 0 of rank 0's in belongs here
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
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            recv(chunk(src), src, comm);
        }
    }
}

}  // namespace dist
