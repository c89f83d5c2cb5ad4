// Both calls as a request and a wait.
#include <utility>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void send(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size()), "send: a message holds at most 2^31 - 1 elements");
    const int n = static_cast<int>(data.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Isend(data.data(), n, MPI_FLOAT, dst, tag, comm.handle(), &request));
    MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

void recv(std::span<float> data, int src, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size()), "recv: a message holds at most 2^31 - 1 elements");
    const int n = static_cast<int>(data.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_CHECK(MPI_Irecv(data.data(), n, MPI_FLOAT, src, tag, comm.handle(), &request));
    MPI_CHECK(MPI_Wait(&request, &status));
    int received = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
    if (received != n) {
        throw Error("recv: the message has another length than the buffer");
    }
}

}  // namespace dist
