// A collective that hardly anybody calls, forbidden like all others.
// state: forbidden
// says: MPI_Ireduce_scatter was called
// says: This program may not call it
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {
const harness::Forbid kForbid{{"collectives"}, "This program may not call it."};
}

void state(const Communicator& comm) {
    const std::vector<int> counts(static_cast<std::size_t>(comm.size()), 1);
    const std::vector<float> in(counts.size(), 1);
    float out = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Ireduce_scatter(
        in.data(), &out, counts.data(), MPI_FLOAT, MPI_SUM, comm.handle(), &request
    ));
    MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

}  // namespace dist
