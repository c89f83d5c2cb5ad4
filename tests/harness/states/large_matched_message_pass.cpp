// Right: 200 MB in one message to a receive that was matched by MPI_Mprobe. It is under way for longer
// than a deadlock takes to be decided, and nothing else moves meanwhile.
// state: pass

#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() > 1) {
        return;
    }
    std::vector<char> data(200'000'000);
    const int n = static_cast<int>(data.size());
    if (comm.rank() == 0) {
        MPI_CHECK(MPI_Send(data.data(), n, MPI_CHAR, 1, 0, comm.handle()));
    } else {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_CHECK(MPI_Mprobe(0, 0, comm.handle(), &message, MPI_STATUS_IGNORE));
        MPI_CHECK(MPI_Mrecv(data.data(), n, MPI_CHAR, &message, MPI_STATUS_IGNORE));
    }
}

}  // namespace dist
