// Rank 0 starts each step and the others wait for what comes in: right, and p times as slow.
// state: fail
// says: one message go around while the other ranks wait
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/ring_reduce_scatter.hpp"

namespace dist {

void ring_reduce_scatter(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk c = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(c.begin, c.size());
    };
    std::vector<float> scratch(data.size() / static_cast<std::size_t>(p) + 1);
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;

    for (int s = 0; p > 1 && s < p - 1; ++s) {
        const auto mine = chunk(r - 2 - s);
        const auto incoming = std::span(scratch).first(mine.size());
        if (r == 0) {
            send(chunk(r - 1 - s), next, comm);
        }
        recv(incoming, prev, comm);
        if (r != 0) {
            send(chunk(r - 1 - s), next, comm);
        }
        accumulate(incoming, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r), 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
