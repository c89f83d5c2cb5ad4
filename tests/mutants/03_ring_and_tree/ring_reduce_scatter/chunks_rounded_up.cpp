// All chunks but the last are ceil(n / p) long.
// state: fail in leaves chunk r of the sum on rank r, for every length n
// says: elements [6, 7) are finished here, and chunk 2 is elements [5, 7): chunk_bounds() says
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto each = (data.size() + static_cast<std::size_t>(p) - 1) / static_cast<std::size_t>(p);
    const auto chunk = [&](int i) {
        const auto place = static_cast<std::size_t>((i + p) % p);
        const auto rest = data.subspan(std::min(place * each, data.size()));
        return rest.first(std::min(each, rest.size()));
    };
    std::vector<float> incoming(each);
    for (int s = 1; s < p; ++s) {
        const auto mine = chunk(r - s - 1);
        const auto in = std::span(incoming).first(mine.size());
        ring_shift(chunk(r - s), in, comm);
        accumulate(in, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r), 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
