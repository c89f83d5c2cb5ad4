// Right: a message of 200 MB among a thousand that are posted and wait for the end.
// state: pass

#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() > 1) {
        return;
    }
    constexpr int kMany = 1000;
    const int other = 1 - comm.rank();
    std::vector<float> in(kMany);
    std::vector<MPI_Request> requests(kMany);
    for (int i = 0; i < kMany; ++i) {
        const auto at = static_cast<std::size_t>(i);
        MPI_CHECK(MPI_Irecv(&in[at], 1, MPI_FLOAT, other, 1 + i, comm.handle(), &requests[at]));
    }
    std::vector<char> large(200'000'000);
    const int n = static_cast<int>(large.size());
    if (comm.rank() == 0) {
        MPI_CHECK(MPI_Send(large.data(), n, MPI_CHAR, 1, 0, comm.handle()));
    } else {
        MPI_CHECK(MPI_Recv(large.data(), n, MPI_CHAR, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < kMany; ++i) {
        const auto out = static_cast<float>(i);
        MPI_CHECK(MPI_Send(&out, 1, MPI_FLOAT, other, 1 + i, comm.handle()));
    }
    MPI_CHECK(MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE));
}

}  // namespace dist
