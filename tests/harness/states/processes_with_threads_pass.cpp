// Ranks that are plain processes sleep for long, but for threads that wake up now and then: nothing hangs.
// state: pass

#include <thread>
#include <unistd.h>

#include "tests/harness/processes/processes.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const auto wakes_up = [] {
        for (int i = 0; i < 22; ++i) {
            usleep(100'000);
        }
    };
    if (comm.rank() == 0) {
        harness::on_processes(2, [&](int rank, int /*p*/) {
            if (rank == 0) {
                std::thread(wakes_up).join();
            }
        });
    }
}

}  // namespace dist
