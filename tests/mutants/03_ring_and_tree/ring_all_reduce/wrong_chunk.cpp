// Adds what comes in to the chunk that just left, not to the one with the same number.
// state: fail
// says: FAIL  ring_all_reduce sums every element over all ranks
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const auto i = static_cast<std::size_t>((number + p) % p);
        const std::size_t begin = data.size() * i / static_cast<std::size_t>(p);
        const std::size_t end = data.size() * (i + 1) / static_cast<std::size_t>(p);
        return data.subspan(begin, end - begin);
    };
    std::vector<float> incoming(chunk(p - 1).size());

    for (int s = 0; s < p - 1; ++s) {
        const auto in = std::span(incoming).first(chunk(r - s - 1).size());
        const auto mine = chunk(r - s);
        ring_shift(mine, in, comm);
        const std::size_t both = std::min(in.size(), mine.size());
        accumulate(in.first(both), mine.first(both), op);
    }
    for (int s = 0; s < p - 1; ++s) {
        ring_shift(chunk(r + 1 - s), chunk(r - s), comm);
    }
}

}  // namespace dist
