// Passes whole tensors around the ring: the right sum, and p times the bytes.
// state: fail
// says: never the whole tensor
#include <vector>

#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    std::vector<float> outgoing(data.begin(), data.end());
    std::vector<float> incoming(data.size());
    for (int s = 0; s < p - 1; ++s) {
        ring_shift(outgoing, incoming, comm);
        accumulate(incoming, data, op);
        outgoing.swap(incoming);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
