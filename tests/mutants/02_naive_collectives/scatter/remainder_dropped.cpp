// Every chunk has n / p elements: what is left over goes to nobody.
// state: fail
// says: chunk_bounds says which elements are this rank's
#include <algorithm>

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
    const std::size_t length = in.size() / static_cast<std::size_t>(p);
    const auto chunk = [&](int i) {
        return in.subspan(static_cast<std::size_t>(i) * length, length);
    };
    std::ranges::copy(chunk(root), out.begin());
    for (int dst = 0; dst < p; ++dst) {
        if (dst != root) {
            send(chunk(dst), dst, comm);
        }
    }
}

}  // namespace dist
