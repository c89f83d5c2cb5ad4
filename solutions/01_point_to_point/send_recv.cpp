#include "exercises/01_point_to_point/send_recv.hpp"

#include <string>
#include <utility>

#include <mpi.h>

namespace dist {

void send(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size()), "send: a message holds at most 2^31 - 1 elements");
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Send(data.data(), n, MPI_FLOAT, dst, tag, comm.handle()));
}

void recv(std::span<float> data, int src, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size()), "recv: a message holds at most 2^31 - 1 elements");
    const int n = static_cast<int>(data.size());
    MPI_Status status;
    // A message that is too long fails here: MPI_ERR_TRUNCATE.
    MPI_CHECK(MPI_Recv(data.data(), n, MPI_FLOAT, src, tag, comm.handle(), &status));
    // One that is too short does not: the count says how much came.
    int received = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
    if (received != n) {
        throw Error(
            "recv: expected " + std::to_string(n) + " elements from rank " +
            std::to_string(status.MPI_SOURCE) + ", got " + std::to_string(received)
        );
    }
}

}  // namespace dist
