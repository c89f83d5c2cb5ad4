// A second thread sends while this one receives.
#include <thread>
#include <utility>

#include <mpi.h>

#include "exercises/01_point_to_point/ring_shift.hpp"

namespace dist {

void ring_shift(
    std::span<const float> to_next, std::span<float> from_prev, const Communicator& comm
) {
    expects(std::in_range<int>(to_next.size()), "ring_shift: to_next is too long for an int");
    expects(std::in_range<int>(from_prev.size()), "ring_shift: from_prev is too long for an int");
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    const int prev = (comm.rank() - 1 + p) % p;
    const int n_out = static_cast<int>(to_next.size());
    const int n_in = static_cast<int>(from_prev.size());
    int code = MPI_SUCCESS;
    std::thread sender([&] {
        code = MPI_Send(to_next.data(), n_out, MPI_FLOAT, next, 0, comm.handle());
    });
    const int recv_code =
        MPI_Recv(from_prev.data(), n_in, MPI_FLOAT, prev, 0, comm.handle(), MPI_STATUS_IGNORE);
    sender.join();
    MPI_CHECK(code);
    MPI_CHECK(recv_code);
}

}  // namespace dist
