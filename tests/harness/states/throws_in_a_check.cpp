// Rank 1 throws inside a check, the others wait for it where the harness brings records together.
// state: fail
// says: rank 1
// says: my own mistake
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <stdexcept>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

namespace {
bool throws_on(int rank, const Communicator& comm) {
    if (comm.rank() == rank) {
        throw std::runtime_error("my own mistake");
    }
    harness::record(comm, [] {});
    return true;
}
}  // namespace

void state(const Communicator& comm) {
    CHECK(throws_on(1, comm));
    harness::record(comm, [&] {
        float x = 0;
        MPI_CHECK(MPI_Bcast(&x, 1, MPI_FLOAT, 0, comm.handle()));
    });
}

}  // namespace dist
