// recv does not look at how much came: a message that is too short passes.
// state: fail
// says: recv must throw dist::Error
#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void send(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Send(data.data(), n, MPI_FLOAT, dst, tag, comm.handle()));
}

void recv(std::span<float> data, int src, const Communicator& comm, int tag) {
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Recv(data.data(), n, MPI_FLOAT, src, tag, comm.handle(), MPI_STATUS_IGNORE));
}

}  // namespace dist
