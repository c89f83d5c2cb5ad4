// Every rank passes whole tensors around the ring: the right sum, and p/2 times the bytes.
// state: fail in sends at most 2(p-1) messages, and 2(p-1) chunks of ceil(n/p) floats
// says: never the whole tensor
#include <vector>

#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
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
