// recv asks for the length first, and takes the message out of the way even when it is wrong.
#include <algorithm>
#include <utility>
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

void send(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size()), "send: a message holds at most 2^31 - 1 elements");
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Ssend(data.data(), n, MPI_FLOAT, dst, tag, comm.handle()));
}

void recv(std::span<float> data, int src, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size()), "recv: a message holds at most 2^31 - 1 elements");
    MPI_Status status;
    MPI_CHECK(MPI_Probe(src, tag, comm.handle(), &status));
    int n = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &n));
    std::vector<float> message(static_cast<std::size_t>(n));
    MPI_CHECK(MPI_Recv(message.data(), n, MPI_FLOAT, src, tag, comm.handle(), MPI_STATUS_IGNORE));
    if (message.size() != data.size()) {
        throw Error("recv: the message has another length than the buffer");
    }
    std::copy(message.begin(), message.end(), data.begin());
}

}  // namespace dist
