// MPI_Allreduce, which this program may not call.
// state: forbidden
// says: MPI_Allreduce was called
// says: This program may not call it
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float in = 1;
    float out = 0;
    MPI_CHECK(MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_SUM, comm.handle()));
}

}  // namespace dist
