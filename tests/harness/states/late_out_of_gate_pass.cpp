// Right: one rank gets no core when a gate of the harness opens, and the others wait for its message
// meanwhile. same_on_all_ranks has two gates; the last rank is stopped in the second one, from outside, by
// a child of its own, while rank 0 is still held in the first.
// state: pass

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/roll_call/roll_call.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

/// Stops this rank for `pause` microseconds, from the moment it stands in the `n`-th gate from now.
pid_t stop_in_gate(int n, unsigned pause) {
    const long gate = harness::my_slot().gate + n;
    const pid_t me = getpid();
    const pid_t child = fork();
    if (child == 0) {
        while (harness::my_slot().gate < gate) {
            usleep(100);
        }
        usleep(20'000);
        kill(me, SIGSTOP);
        usleep(pause);
        kill(me, SIGCONT);
        _exit(0);
    }
    return child;
}

}  // namespace

void state(const Communicator& comm) {
    const int p = comm.size();
    pid_t child = -1;
    if (comm.rank() == 0) {
        child = stop_in_gate(1, 400'000);
    } else if (comm.rank() == p - 1) {
        child = stop_in_gate(2, 1'200'000);
    } else {
        usleep(200'000);
    }
    harness::same_on_all_ranks(std::vector<float>{1, 2, 3}, comm);
    float in = 0;
    const float out = 1;
    MPI_CHECK(MPI_Sendrecv(
        &out, 1, MPI_FLOAT, (comm.rank() + 1) % p, 0,     //
        &in, 1, MPI_FLOAT, (comm.rank() - 1 + p) % p, 0,  //
        comm.handle(), MPI_STATUS_IGNORE
    ));
    if (child > 0) {
        waitpid(child, nullptr, 0);
    }
}

}  // namespace dist
