// Recursive doubling in its place: half the rounds, too many bytes.
// state: fail in sends parts that are half as long in each step, and a ring's bytes
// says: bytes, where at most
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"

#include "exercises/03_ring_and_tree/halving_doubling.hpp"

namespace dist {

void halving_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    recursive_doubling_all_reduce(data, op, comm);
}

}  // namespace dist
