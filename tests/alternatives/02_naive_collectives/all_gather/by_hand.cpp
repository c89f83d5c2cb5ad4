// Both halves written out.
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/all_gather.hpp"

namespace dist {

void all_gather(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    const int p = comm.size();
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(out.size(), p, i);
        return out.subspan(bounds.begin, bounds.size());
    };
    if (comm.rank() != 0) {
        send(in, 0, comm);
        recv(out, 0, comm);
        return;
    }
    expects(in.size() == chunk(0).size(), "all_gather: in must be as long as this rank's chunk");
    std::ranges::copy(in, chunk(0).begin());
    for (int src = p - 1; src > 0; --src) {
        recv(chunk(src), src, comm);
    }
    for (int dst = 1; dst < p; ++dst) {
        send(out, dst, comm);
    }
}

}  // namespace dist
