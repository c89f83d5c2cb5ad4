#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {

// TODO: both functions, one MPI call each: MPI_Send and MPI_Recv. comm.handle() is the MPI_Comm;
// MPI_CHECK(...) around a call turns its failure into an exception. recv has a second duty: see
// "Errors" in its header.
void send(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    throw NotImplemented("send");
}

void recv(std::span<float> data, int src, const Communicator& comm, int tag) {
    throw NotImplemented("recv");
}

}  // namespace dist
