// The other binomial tree, of MPICH: a place hears those that differ from it in one bit below its
// lowest, the nearest first, then sends to the place without that bit.
#include <algorithm>

#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/tree_reduce.hpp"

namespace dist {

void tree_reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "tree_reduce: root must be a rank of comm");
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    const auto rank_at = [&](int other) { return (root + other) % p; };
    Buffer partial(data.size());  // data itself stays as it was but on the root
    Buffer incoming(data.size());
    std::ranges::copy(data, partial.data());

    for (int d = 1; d < p; d *= 2) {
        if ((place & d) != 0) {
            send(partial.span(), rank_at(place - d), comm);
            break;
        }
        if (place + d < p) {
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
