// A rank that is a plain process sends two messages where one is right; both are drawn, and the second is too much.
// state: fail in the state under test
// says: it sent 2 messages, where exactly 1 is right
// says: !: more than is right
// says: round 2

#include "tests/harness/channel.hpp"
#include "tests/harness/processes/processes.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() != 0) {
        return;
    }
    const harness::Processes run = harness::on_processes(2, [](int rank, int /*p*/) {
        for (int i = 0; i < 2; ++i) {
            if (rank == 0) {
                harness::channel::sends({.peer = 1, .bytes = 4});
            } else {
                harness::channel::receives({.peer = 0, .bytes = 4}, harness::channel::awaits());
            }
        }
    });
    CHECK(harness::within(run, 0, {.messages_sent = harness::exactly(1)}));
}

}  // namespace dist
