// Rank 1 sleeps for ever, in the destructor of a local.
// state: time_limit
// says: rank 1 sleeps, or was stopped, outside of MPI calls: what does it wait for?
// says: rank 1  sleeps   sleeps_for_ever.cpp:
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include <unistd.h>

#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

struct Sleeper {
    bool sleeps;
    ~Sleeper() {
        while (sleeps) {
            sleep(1);
        }
    }
};

}  // namespace

void state(const Communicator& comm) {
    const Sleeper sleeper{comm.rank() == 1};
}

}  // namespace dist
