// The root walks through its data once; its own chunk comes in its turn.
#include <algorithm>

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
    expects(
        out.size() == chunk_bounds(in.size(), p, root).size(), "scatter: out has the wrong length"
    );
    const std::size_t n = in.size();
    for (int dst = 0; dst < p; ++dst) {
        const std::size_t length = chunk_bounds(n, p, dst).size();
        if (dst == root) {
            std::copy_n(in.begin(), length, out.begin());
        } else {
            send(in.first(length), dst, comm);
        }
        in = in.subspan(length);
    }
}

}  // namespace dist
