// Each step begins its receive before it sends.
#include <algorithm>
#include <utility>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"
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
    for (int s = 1; s < p; ++s) {
        const int src = (r - s + p) % p;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_CHECK(MPI_Irecv(
            block(out, src).data(), static_cast<int>(m), MPI_FLOAT, src, 0, comm.handle(), &request
        ));
        send(block(in, (r + s) % p), (r + s) % p, comm);
        MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
