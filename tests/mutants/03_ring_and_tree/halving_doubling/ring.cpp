// A ring in its place: as few bytes, too many rounds.
// state: fail in is through after 2 log2 p rounds
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void halving_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    ring_all_reduce(data, op, comm);
}

}  // namespace dist
