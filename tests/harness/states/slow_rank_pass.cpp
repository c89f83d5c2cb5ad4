// Right: one rank sleeps for most of a second, and the others wait for it.
// state: pass

#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() == 0) {
        usleep(700'000);
    }
    float x = 0;
    MPI_CHECK(MPI_Bcast(&x, 1, MPI_FLOAT, 0, comm.handle()));
}

}  // namespace dist
