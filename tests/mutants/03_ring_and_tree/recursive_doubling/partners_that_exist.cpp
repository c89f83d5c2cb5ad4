// No folding: a rank whose partner does not exist sits the step out.
// state: fail
// says: FAIL  recursive_doubling takes in every rank once, p no power of two
#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"

namespace dist {

void recursive_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    Buffer incoming(data.size());
    // before the step of distance d, groups of d neighbours hold the reduction of their group
    for (int d = 1; d < p; d *= 2) {
        if ((r ^ d) >= p) {
            continue;
        }
        Request sent = isend(data, r ^ d, comm);
        recv(incoming.span(), r ^ d, comm);
        sent.wait();  // only then may data change
        accumulate(incoming.span(), data, op);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
