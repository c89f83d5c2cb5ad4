// Chunk i begins at i * (n / p), as if p divided n: chunks overlap, and the end is never written.
// state: fail
// says: chunk_bounds says where each rank's chunk begins
// says: belongs here
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
        const std::size_t begin =
            static_cast<std::size_t>(i) * (out.size() / static_cast<std::size_t>(p));
        return out.subspan(begin, chunk_bounds(out.size(), p, i).size());
    };
    std::ranges::copy(in, chunk(root).begin());
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            recv(chunk(src), src, comm);
        }
    }
}

}  // namespace dist
