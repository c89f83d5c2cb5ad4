// n bytes are sent in the place of n floats: three quarters of the message are missing.
// state: fail
// says: one message of 28 bytes, and no other
#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void send(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Send(data.data(), n, MPI_BYTE, dst, tag, comm.handle()));
}

void recv(std::span<float> data, int src, const Communicator& comm, int tag) {
    const int n = static_cast<int>(data.size());
    MPI_Status status;
    MPI_CHECK(MPI_Recv(data.data(), n, MPI_BYTE, src, tag, comm.handle(), &status));
    int received = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_BYTE, &received));
    if (received != n) {
        throw Error("recv: the message has another length than the buffer");
    }
}

}  // namespace dist
