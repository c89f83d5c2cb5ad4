// Rank 0 starts and one message goes around while all others wait: right, and p times as slow.
// state: fail
// says: one message go around while the other ranks wait
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    const auto chunk = [&](int number) {
        const auto i = static_cast<std::size_t>((number + p) % p);
        const std::size_t begin = data.size() * i / static_cast<std::size_t>(p);
        const std::size_t end = data.size() * (i + 1) / static_cast<std::size_t>(p);
        return data.subspan(begin, end - begin);
    };
    std::vector<float> incoming(chunk(p - 1).size());
    const auto shift = [&](std::span<const float> to_next, std::span<float> from_prev) {
        if (r == 0) {
            send(to_next, next, comm);
            recv(from_prev, prev, comm);
        } else {
            std::vector<float> arrived(from_prev.size());
            recv(arrived, prev, comm);
            send(to_next, next, comm);
            std::ranges::copy(arrived, from_prev.begin());
        }
    };

    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r - s - 1);
        const auto in = std::span(incoming).first(mine.size());
        shift(chunk(r - s), in);
        accumulate(in, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r + 1), 1.0F / static_cast<float>(p));
    }
    for (int s = 0; s < p - 1; ++s) {
        shift(chunk(r + 1 - s), chunk(r - s));
    }
}

}  // namespace dist
