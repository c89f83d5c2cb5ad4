// The send is waited for, the receive is not.
// state: fail
// says: nothing was written
// says: MPI_Irecv(from rank
// says: was started and never waited for
#include <mpi.h>

#include "exercises/01_point_to_point/ring_shift.hpp"

namespace dist {

void ring_shift(
    std::span<const float> to_next, std::span<float> from_prev, const Communicator& comm
) {
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    const int prev = (comm.rank() - 1 + p) % p;
    MPI_Request received = MPI_REQUEST_NULL;
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Irecv(
        from_prev.data(), static_cast<int>(from_prev.size()), MPI_FLOAT, prev, 0, comm.handle(),
        &received
    ));
    MPI_CHECK(MPI_Isend(
        to_next.data(), static_cast<int>(to_next.size()), MPI_FLOAT, next, 0, comm.handle(), &sent
    ));
    MPI_CHECK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

}  // namespace dist
