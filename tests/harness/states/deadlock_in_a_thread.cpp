// A second thread of every rank receives in vain while the first waits for it to end.
// state: hang
// says: MPI_Recv(from rank
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <thread>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int prev = (comm.rank() + comm.size() - 1) % comm.size();
    std::thread receiver([&] {
        float x = 0;
        MPI_Recv(&x, 1, MPI_FLOAT, prev, 0, comm.handle(), MPI_STATUS_IGNORE);
    });
    receiver.join();
}

}  // namespace dist
