// The mean divides every contribution before anything is sent; empty chunks are not sent at all.
#include <vector>

#include <mpi.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
    const auto chunk = [&](int number) {
        const auto i = static_cast<std::size_t>((number + p) % p);
        const std::size_t begin = data.size() * i / static_cast<std::size_t>(p);
        const std::size_t end = data.size() * (i + 1) / static_cast<std::size_t>(p);
        return data.subspan(begin, end - begin);
    };
    const auto shift = [&](std::span<const float> out, std::span<float> in) {
        const int next = out.empty() ? MPI_PROC_NULL : (r + 1) % p;
        const int prev = in.empty() ? MPI_PROC_NULL : (r - 1 + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, next, 0,  //
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, prev, 0,    //
            comm.handle(), MPI_STATUS_IGNORE
        ));
    };
    for (int s = 0; s < p - 1; ++s) {
        std::vector<float> incoming(chunk(r - s - 1).size());
        shift(chunk(r - s), incoming);
        accumulate(incoming, chunk(r - s - 1), op);
    }
    for (int s = 0; s < p - 1; ++s) {
        shift(chunk(r + 1 - s), chunk(r - s));
    }
}

}  // namespace dist
