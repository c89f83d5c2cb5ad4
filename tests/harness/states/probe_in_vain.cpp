// Rank 0 probes for a message that nobody sends.
// state: hang
// says: rank 0
// says: MPI_Probe(from any rank, any tag)
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        MPI_Status status;
        MPI_CHECK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm.handle(), &status));
    }
}

}  // namespace dist
