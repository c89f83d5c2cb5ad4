// Does not look at root: one that is no rank is taken modulo p.
// state: fail
// says: every rank must refuse it
#include <algorithm>
#include <bit>

#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_reduce.hpp"

namespace dist {

void tree_reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    const int p = comm.size();
    const int place = ((comm.rank() - root) % p + p) % p;
    const auto rank_at = [&](int other) { return ((root + other) % p + p) % p; };
    Buffer partial(data.size());  // data itself stays as it was but on the root
    Buffer incoming(data.size());
    std::ranges::copy(data, partial.data());

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
        if (op == ReduceOp::mean) {
            scale(data, 1.0F / static_cast<float>(p));
        }
    }
}

}  // namespace dist
