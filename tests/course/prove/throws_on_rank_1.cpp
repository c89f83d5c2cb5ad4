// Rank 1 throws, and the others wait for it.
#include <stdexcept>

#include <mpi.h>

#include "exercises/01_point_to_point/ring_shift.hpp"

namespace dist {

void ring_shift(
    std::span<const float> to_next, std::span<float> from_prev, const Communicator& comm
) {
    if (comm.rank() == 1) {
        throw std::runtime_error("my own mistake");
    }
    const int p = comm.size();
    MPI_CHECK(MPI_Sendrecv(
        to_next.data(), static_cast<int>(to_next.size()), MPI_FLOAT, (comm.rank() + 1) % p, 0,  //
        from_prev.data(), static_cast<int>(from_prev.size()), MPI_FLOAT, (comm.rank() + p - 1) % p,
        0, comm.handle(), MPI_STATUS_IGNORE
    ));
}

}  // namespace dist
