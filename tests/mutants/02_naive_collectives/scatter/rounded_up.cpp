// Every chunk has n / p elements, rounded up, and the last one what is left.
// state: fail
// says: recv
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
    const auto parts = static_cast<std::size_t>(p);
    const std::size_t length = (in.size() + parts - 1) / parts;
    const auto chunk = [&](int i) {
        const std::size_t begin = std::min(in.size(), static_cast<std::size_t>(i) * length);
        return in.subspan(begin, std::min(length, in.size() - begin));
    };
    expects(out.size() == chunk(root).size(), "scatter: out must be as long as this rank's chunk");
    std::ranges::copy(chunk(root), out.begin());
    for (int dst = 0; dst < p; ++dst) {
        if (dst != root) {
            send(chunk(dst), dst, comm);
        }
    }
}

}  // namespace dist
