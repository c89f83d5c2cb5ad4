// Places are counted down from the root, in place of up; every contribution to a mean is divided
// before it leaves.
#include <algorithm>
#include <bit>

#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_reduce.hpp"

namespace dist {

void tree_reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "tree_reduce: root must be a rank of comm");
    const int p = comm.size();
    const int place = (root - comm.rank() + p) % p;
    const auto rank_at = [&](int other) { return (root - other + p) % p; };
    Buffer partial(data.size());  // data itself stays as it was but on the root
    Buffer incoming(data.size());
    std::ranges::copy(data, partial.data());
    if (op == ReduceOp::mean) {
        scale(partial.span(), 1.0F / static_cast<float>(p));
    }

    // before the round of distance d, the places below 2d hold partial results, after it those
    // below d
    const int places = static_cast<int>(std::bit_ceil(static_cast<unsigned>(p)));
    for (int d = places / 2; d > 0; d /= 2) {
        if (d <= place && place < 2 * d) {
            send(partial.span(), rank_at(place - d), comm);
        } else if (place < d && place + d < p) {
            recv(incoming.span(), rank_at(place + d), comm);
            accumulate(incoming.span(), partial.span(), op);
        }
    }
    if (place == 0) {
        std::ranges::copy(partial.span(), data.begin());
    }
}

}  // namespace dist
