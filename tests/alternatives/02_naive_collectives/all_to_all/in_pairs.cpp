// An exchange in pairs: in step s the partners are those whose ranks add up to s, mod p.
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
    for (int s = 0; s < p; ++s) {
        const int partner = (s - r + p) % p;
        if (partner == r) {
            std::ranges::copy(block(in, r), block(out, r).begin());
            continue;
        }
        MPI_CHECK(MPI_Sendrecv(
            block(in, partner).data(), static_cast<int>(m), MPI_FLOAT, partner, 5,   //
            block(out, partner).data(), static_cast<int>(m), MPI_FLOAT, partner, 5,  //
            comm.handle(), MPI_STATUS_IGNORE
        ));
    }
}

}  // namespace dist
