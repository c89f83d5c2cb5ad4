// Rank 1 throws, the others wait for it.
// state: fail
// says: rank 1
// says: std::runtime_error
// says: my own mistake
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <stdexcept>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 1) {
        throw std::runtime_error("my own mistake");
    }
    float x = 0;
    MPI_CHECK(MPI_Bcast(&x, 1, MPI_FLOAT, 0, comm.handle()));
}

}  // namespace dist
