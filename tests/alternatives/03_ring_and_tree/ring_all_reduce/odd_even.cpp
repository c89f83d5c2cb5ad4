// Blocking sends and receives: even ranks send first, odd ranks receive first. Half the speed,
// and right.
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

namespace {

void shift(std::span<const float> out, std::span<float> in, const Communicator& comm) {
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    const int prev = (comm.rank() - 1 + p) % p;
    if (comm.rank() % 2 == 0) {
        send(out, next, comm);
        recv(in, prev, comm);
    } else {
        recv(in, prev, comm);
        send(out, next, comm);
    }
}

}  // namespace

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const auto ranks = static_cast<std::size_t>(p);
    // chunks of ceil(n/p), the last ones short or empty
    const std::size_t most = (data.size() + ranks - 1) / ranks;
    const auto chunk = [&](int number) {
        const auto i = static_cast<std::size_t>((number + p) % p);
        const std::size_t begin = std::min(i * most, data.size());
        return data.subspan(begin, std::min(most, data.size() - begin));
    };
    // numbered so that rank r finishes chunk r
    const int r = comm.rank() - 1;
    std::vector<float> incoming(most);
    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk((r - s - 1 + p) % p);
        const auto in = std::span(incoming).first(mine.size());
        shift(chunk((r - s + p) % p), in, comm);
        accumulate(in, mine, op);
    }
    for (int s = 0; s < p - 1; ++s) {
        shift(chunk((r + 1 - s + p) % p), chunk((r - s + p) % p), comm);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
