// Stops half way: every rank has one finished chunk, and keeps it to itself.
// state: fail
// says: that is this rank's own contribution
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
        const auto mine = chunk(r - s - 1);
        const auto in = std::span(incoming).first(mine.size());
        ring_shift(chunk(r - s), in, comm);
        accumulate(in, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r + 1), 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
