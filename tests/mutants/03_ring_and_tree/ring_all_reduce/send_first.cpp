// Every rank sends first, and no send returns before somebody receives.
// state: hang
// says: MPI_Send
#include <vector>

#include <mpi.h>

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
        MPI_CHECK(MPI_Send(
            to_next.data(), static_cast<int>(to_next.size()), MPI_FLOAT, next, 0, comm.handle()
        ));
        MPI_CHECK(MPI_Recv(
            from_prev.data(), static_cast<int>(from_prev.size()), MPI_FLOAT, prev, 0, comm.handle(),
            MPI_STATUS_IGNORE
        ));
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
