// A message that the layer cannot follow: it is refused by name.
// state: forbidden
// says: MPI_Win_create was called
// says: one-sided messages
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    float in = 0;
    const float out = 1;
    MPI_Win window = MPI_WIN_NULL;
    MPI_CHECK(MPI_Win_create(&in, sizeof in, sizeof in, MPI_INFO_NULL, comm.handle(), &window));
    MPI_CHECK(MPI_Win_fence(0, window));
    const int next = (comm.rank() + 1) % comm.size();
    MPI_CHECK(MPI_Put(&out, 1, MPI_FLOAT, next, 0, 1, MPI_FLOAT, window));
    MPI_CHECK(MPI_Win_fence(0, window));
    MPI_CHECK(MPI_Win_free(&window));
}

}  // namespace dist
