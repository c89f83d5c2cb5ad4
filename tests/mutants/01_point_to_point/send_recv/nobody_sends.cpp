// send is empty: recv waits for a message that never comes.
// state: hang
// says: has returned already without sending to it
#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void send(std::span<const float> /*data*/, int /*dst*/, const Communicator& /*comm*/, int /*tag*/) {
}

void recv(std::span<float> data, int src, const Communicator& comm, int tag) {
    const int n = static_cast<int>(data.size());
    MPI_Status status;
    MPI_CHECK(MPI_Recv(data.data(), n, MPI_FLOAT, src, tag, comm.handle(), &status));
    int received = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
    if (received != n) {
        throw Error("recv: the message has another length than the buffer");
    }
}

}  // namespace dist
