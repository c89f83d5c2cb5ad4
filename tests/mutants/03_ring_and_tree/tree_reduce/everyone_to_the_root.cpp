// Everyone sends to the root, as in chapter 02: right, and p - 1 rounds.
// state: fail
// says: FAIL  tree_reduce is through after log2 p rounds
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

    for (int other = 1; other < p; ++other) {
        if (place == 0) {
            recv(incoming.span(), rank_at(other), comm);
            accumulate(incoming.span(), partial.span(), op);
        } else if (place == other) {
            send(partial.span(), root, comm);
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
