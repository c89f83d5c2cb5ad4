// What is being sent is written to before the send has been waited for. The message was copied here, so
// the receiver finds the right numbers; with a long message, elsewhere, it would not.
// state: fail
// says: MPI_Isend(to rank 1, tag 0, 12 bytes): its buffer was changed before the send was waited for
// says: pass  after: a test that passes all the same

#include <array>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int p = comm.size();
    std::array<float, 3> data{1, 2, 3};
    std::array<float, 3> incoming{};
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Isend(data.data(), 3, MPI_FLOAT, (comm.rank() + 1) % p, 0, comm.handle(), &sent));
    MPI_CHECK(MPI_Recv(
        incoming.data(), 3, MPI_FLOAT, (comm.rank() - 1 + p) % p, 0, comm.handle(),
        MPI_STATUS_IGNORE
    ));
    data[0] += incoming[0];
    MPI_CHECK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

}  // namespace dist
