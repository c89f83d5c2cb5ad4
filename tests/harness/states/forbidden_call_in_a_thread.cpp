// MPI_Allreduce again, from a thread in which nobody catches what the harness throws.
// state: forbidden
// says: MPI_Allreduce was called
// says: This program may not call it
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <thread>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    std::thread([&] {
        float in = 1;
        float out = 0;
        MPI_CHECK(MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_SUM, comm.handle()));
    }).join();
}

}  // namespace dist
