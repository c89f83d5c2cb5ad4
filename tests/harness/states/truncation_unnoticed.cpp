// The message is longer than the buffer of its receiver, who does not look at what MPI_Recv returns.
// state: fail
// says: a message was truncated: rank 0 sent 4000000 bytes, the receive has room for 4
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    std::vector<float> x(1'000'000, 1.0F);
    if (comm.rank() == 0) {
        MPI_Send(x.data(), static_cast<int>(x.size()), MPI_FLOAT, 1, 0, comm.handle());
    }
    if (comm.rank() == 1) {
        float y = 0;
        MPI_Recv(&y, 1, MPI_FLOAT, 0, 0, comm.handle(), MPI_STATUS_IGNORE);
        CHECK(y == 1);
    }
}

}  // namespace dist
