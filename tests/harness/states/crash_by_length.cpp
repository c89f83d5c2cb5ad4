// Rank 1 receives as many elements as there are bytes; then it dies, as it would of a longer message.
// state: crash
// says: rank 1 died of SIGSEGV
// says: MPI_Recv was told of 112 bytes, and the buffer has 28
// says: crash_by_length.cpp:
// says: ./shardlings --preset debug run harness_states
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <csignal>
#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    std::vector<float> x(7);
    const auto n = static_cast<int>(x.size());
    if (comm.rank() == 0) {
        MPI_CHECK(MPI_Send(x.data(), n, MPI_FLOAT, 1, 0, comm.handle()));
    }
    if (comm.rank() == 1) {
        const auto bytes = static_cast<int>(x.size() * sizeof(float));
        MPI_CHECK(MPI_Recv(x.data(), bytes, MPI_FLOAT, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
        std::raise(SIGSEGV);
    }
}

}  // namespace dist
