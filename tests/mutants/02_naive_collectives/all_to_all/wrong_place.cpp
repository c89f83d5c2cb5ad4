// What comes in is put where the block that went out came from.
// state: fail
// says: belongs here, and this is
#include <algorithm>

#include <mpi.h>

#include "exercises/02_naive_collectives/all_to_all.hpp"

namespace dist {

void all_to_all(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    expects(in.size() == out.size(), "all_to_all: out must be as long as in");
    expects(in.size() % static_cast<std::size_t>(p) == 0, "all_to_all: p must divide in.size()");
    const std::size_t m = in.size() / static_cast<std::size_t>(p);
    const auto block = [m](auto data, int i) {
        return data.subspan(static_cast<std::size_t>(i) * m, m);
    };
    std::ranges::copy(block(in, r), block(out, r).begin());
    for (int s = 1; s < p; ++s) {
        const int dst = (r + s) % p;
        const int src = (r - s + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            block(in, dst).data(), static_cast<int>(m), MPI_FLOAT, dst, 0,   //
            block(out, dst).data(), static_cast<int>(m), MPI_FLOAT, src, 0,  //
            comm.handle(), MPI_STATUS_IGNORE
        ));
    }
}

}  // namespace dist
