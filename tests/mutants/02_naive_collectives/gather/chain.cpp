// Chunks are passed on from rank to rank, each of which adds its own: right, but another algorithm.
// state: fail in sends one message from each rank, and each carries that rank's chunk alone
// says: a rank that passes chunks on is another algorithm
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/gather.hpp"

namespace dist {

void gather(std::span<const float> in, std::span<float> out, int root, const Communicator& comm) {
    const int p = comm.size();
    expects(0 <= root && root < p, "gather: root must be a rank of comm");
    // the root's in is known to have the length of its chunk; every other rank hears n first
    float n_elements = static_cast<float>(out.size());
    if (comm.rank() == root) {
        for (int dst = 0; dst < p; ++dst) {
            if (dst != root) {
                send({&n_elements, 1}, dst, comm);
            }
        }
    } else {
        recv({&n_elements, 1}, root, comm);
    }
    std::vector<float> all(static_cast<std::size_t>(n_elements));
    const int place = (comm.rank() - root + p) % p;
    if (place < p - 1) {
        recv(all, (comm.rank() + 1) % p, comm);
    }
    const Chunk own = chunk_bounds(all.size(), p, comm.rank());
    std::ranges::copy(in, all.begin() + static_cast<std::ptrdiff_t>(own.begin));
    if (place > 0) {
        send(all, (comm.rank() - 1 + p) % p, comm);
    } else {
        std::ranges::copy(all, out.begin());
    }
}

}  // namespace dist
