// The floats travel as bytes.
#include <utility>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void send(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size_bytes()), "send: a message holds at most 2^31 - 1 bytes");
    const int n_bytes = static_cast<int>(data.size_bytes());
    MPI_CHECK(MPI_Send(data.data(), n_bytes, MPI_BYTE, dst, tag, comm.handle()));
}

void recv(std::span<float> data, int src, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size_bytes()), "recv: a message holds at most 2^31 - 1 bytes");
    const int n_bytes = static_cast<int>(data.size_bytes());
    MPI_Status status;
    MPI_CHECK(MPI_Recv(data.data(), n_bytes, MPI_BYTE, src, tag, comm.handle(), &status));
    int received_bytes = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_BYTE, &received_bytes));
    if (received_bytes != n_bytes) {
        throw Error("recv: the message has another length than the buffer");
    }
}

}  // namespace dist
