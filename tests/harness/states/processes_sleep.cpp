// Ranks that are plain processes wait for what does not come; one has ended.
// state: hang in the state under test
// says: nothing moves any more
// says: rank 1  sleeps

#include <unistd.h>

#include "tests/harness/processes/processes.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        harness::on_processes(3, [](int rank, int /*p*/) {
            if (rank > 0) {
                pause();
            }
        });
    }
}

}  // namespace dist
