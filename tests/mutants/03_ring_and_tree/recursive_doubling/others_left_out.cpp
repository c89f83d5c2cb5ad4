// Ranks beyond q get the result, but nobody takes in their data.
// state: fail
// says: the sum of ranks 0, 1; expected the sum of ranks 0, 1, 2
#include <bit>

#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"

namespace dist {

void recursive_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const int doubling = static_cast<int>(std::bit_floor(static_cast<unsigned>(p)));  // q
    if (r >= doubling) {  // rank r - q works for this one, too
        send(data, r - doubling, comm);
        recv(data, r - doubling, comm);
        return;
    }
    const bool for_two = r + doubling < p;
    Buffer incoming(data.size());
    if (for_two) {
        recv(incoming.span(), r + doubling, comm);
    }
    // before the step of distance d, groups of d neighbours hold the reduction of their group
    for (int d = 1; d < doubling; d *= 2) {
        Request sent = isend(data, r ^ d, comm);
        recv(incoming.span(), r ^ d, comm);
        sent.wait();  // only then may data change
        accumulate(incoming.span(), data, op);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
    if (for_two) {
        send(data, r + doubling, comm);
    }
}

}  // namespace dist
