// The root sends as well, to itself, and waits for itself.
// state: hang
// says: waits in MPI_Send(to rank 0
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void gather(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "gather: root must be a rank of comm");
    send(in, root, comm);
    if (comm.rank() != root) {
        return;
    }
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(out.size(), p, i);
        return out.subspan(bounds.begin, bounds.size());
    };
    for (int src = 0; src < p; ++src) {
        recv(chunk(src), src, comm);
    }
}

}  // namespace dist
