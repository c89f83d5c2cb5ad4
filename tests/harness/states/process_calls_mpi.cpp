// A rank that is a plain process calls MPI.
// state: forbidden in the state under test
// says: knows nothing of MPI

#include "tests/harness/processes/processes.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        harness::on_processes(2, [&](int /*rank*/, int /*p*/) {
            MPI_CHECK(MPI_Barrier(comm.handle()));
        });
    }
}

}  // namespace dist
