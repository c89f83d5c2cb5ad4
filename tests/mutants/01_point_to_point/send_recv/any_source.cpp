// recv takes a message from whatever rank.
// state: fail
// says: recv must take only the one of src
#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void send(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Send(data.data(), n, MPI_FLOAT, dst, tag, comm.handle()));
}

void recv(std::span<float> data, int /*src*/, const Communicator& comm, int tag) {
    const int n = static_cast<int>(data.size());
    MPI_Status status;
    MPI_CHECK(MPI_Recv(data.data(), n, MPI_FLOAT, MPI_ANY_SOURCE, tag, comm.handle(), &status));
    int received = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
    if (received != n) {
        throw Error("recv: the message has another length than the buffer");
    }
}

}  // namespace dist
