// A check does not hold in a rank that is a plain process.
// state: fail in the state under test
// says: rank 1
// says: rank < 1

#include "tests/harness/processes/processes.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        harness::on_processes(2, [](int rank, int /*p*/) { CHECK(rank < 1); });
    }
}

}  // namespace dist
