// All messages at once, but in the order of the ranks: everyone's first is for rank 0.
// state: fail
// says: those that send to the same rank wait for each other
#include <algorithm>
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
    const auto block = [m](auto data, int i) {
        return data.subspan(static_cast<std::size_t>(i) * m, m);
    };
    std::ranges::copy(block(in, r), block(out, r).begin());
    std::vector<MPI_Request> requests;
    for (int other = 0; other < p; ++other) {
        if (other != r) {
            const int n = static_cast<int>(m);
            MPI_CHECK(MPI_Irecv(
                block(out, other).data(), n, MPI_FLOAT, other, 0, comm.handle(),
                &requests.emplace_back()
            ));
            MPI_CHECK(MPI_Isend(
                block(in, other).data(), n, MPI_FLOAT, other, 0, comm.handle(),
                &requests.emplace_back()
            ));
        }
    }
    MPI_CHECK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
}

}  // namespace dist
