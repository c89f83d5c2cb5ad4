// Chunks travel to the left, by MPI_Isend, MPI_Irecv and MPI_Waitall.
#include <array>
#include <vector>

#include <mpi.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const int left = (r - 1 + p) % p;
    const int right = (r + 1) % p;
    const auto chunk = [&](int number) {
        const auto i = static_cast<std::size_t>(number % p);
        const std::size_t begin = data.size() * i / static_cast<std::size_t>(p);
        const std::size_t end = data.size() * (i + 1) / static_cast<std::size_t>(p);
        return data.subspan(begin, end - begin);
    };
    const auto shift_left = [&](std::span<const float> out, std::span<float> in) {
        std::array<MPI_Request, 2> requests{};
        MPI_CHECK(MPI_Irecv(
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, right, 7, comm.handle(), &requests[0]
        ));
        MPI_CHECK(MPI_Isend(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, left, 7, comm.handle(),
            &requests[1]
        ));
        MPI_CHECK(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    };
    std::vector<float> incoming(chunk(p - 1).size());

    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r + s + 1);
        const auto in = std::span(incoming).first(mine.size());
        shift_left(chunk(r + s), in);
        accumulate(in, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r + p - 1), 1.0F / static_cast<float>(p));
    }
    for (int s = 0; s < p - 1; ++s) {
        shift_left(chunk(r + p - 1 + s), chunk(r + s));
    }
}

}  // namespace dist
