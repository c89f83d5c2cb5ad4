// The whole ring in one function, on ring_shift alone; chunks are numbered so that rank r finishes
// chunk r + 1, and cut at n i / p.
#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    // p chunks whose lengths differ by one at most; their numbers go around: -1 is p-1, p is 0
    const auto chunk = [&](int number) {
        const auto i = static_cast<std::size_t>((number + p) % p);
        const std::size_t begin = data.size() * i / static_cast<std::size_t>(p);
        const std::size_t end = data.size() * (i + 1) / static_cast<std::size_t>(p);
        return data.subspan(begin, end - begin);
    };
    Buffer incoming(chunk(p - 1).size());  // the last chunk is as long as any

    // reduce-scatter: after step s, chunk r-s-1 holds the contributions of s+2 ranks
    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r - s - 1);
        const auto in = incoming.span().first(mine.size());
        ring_shift(chunk(r - s), in, comm);
        accumulate(in, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r + 1), 1.0F / static_cast<float>(p));
    }
    // all-gather: chunk r+1 is finished; after step s, so are the s+1 chunks before it
    for (int s = 0; s < p - 1; ++s) {
        ring_shift(chunk(r + 1 - s), chunk(r - s), comm);
    }
}

}  // namespace dist
