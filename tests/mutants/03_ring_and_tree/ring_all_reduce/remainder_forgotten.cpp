// Chunks of n/p elements, rounded down: the last n mod p elements belong to no chunk.
// state: fail
// says: that is this rank's own contribution: nothing was added
#include <vector>

#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const auto i = static_cast<std::size_t>((number + p) % p);
        const std::size_t length = data.size() / static_cast<std::size_t>(p);
        return data.subspan(i * length, length);
    };
    std::vector<float> incoming(chunk(0).size());

    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r - s - 1);
        const auto in = std::span(incoming).first(mine.size());
        ring_shift(chunk(r - s), in, comm);
        accumulate(in, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r + 1), 1.0F / static_cast<float>(p));
    }
    for (int s = 0; s < p - 1; ++s) {
        ring_shift(chunk(r + 1 - s), chunk(r - s), comm);
    }
}

}  // namespace dist
