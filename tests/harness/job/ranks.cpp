// Note [Proxies] To load a program that is linked with LibTorch takes 0.6 s of a core: 293 libraries, and thousands of
// operators that enter their names; eleven ranks would pay that eleven times. So mpirun starts proxies
// (tests/harness/proxy), which are small; rank 0's proxy starts the test's program, and that forks the ranks:
//
//     mpirun -+- proxy of rank 0 --- the loaded program -+- watcher of rank 0 --- rank 0
//             +- proxy of rank 1                         +- watcher of rank 1 --- rank 1
//
// MPI knows a rank by its environment, which mpirun gave to the proxy. mpirun ends a rank by a signal to its proxy's
// process group, in which watcher and rank are too. A proxy ends as its watcher did (Slot::rank_end); a watcher whose
// proxy is gone goes, too.
#include "tests/harness/job/ranks.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr int kNap = 500;  // us: all proxies are there within a few milliseconds

void take_environment_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
    std::string entry;
    clearenv();
    while (std::getline(file, entry, '\0')) {
        const std::size_t equals = entry.find('=');
        if (equals != std::string::npos) {
            setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
        }
    }
    if (std::getenv(kEnvFolder) == nullptr) {
        throw std::runtime_error(
            "a rank cannot read /proc/" + std::to_string(pid) +
            "/environ, where mpirun says who it is"
        );
    }
}

void become(int rank, pid_t loaded) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != loaded) {
        _exit(1);
    }
    const pid_t proxy = slot_of(rank).proxy;
    take_environment_of(proxy);
    setpgid(0, getpgid(proxy));
}

// Notes how one has ended; false when there is none that could.
bool reap(const std::map<pid_t, int>& rank_of, int options) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, options);
    if (pid > 0) {
        slot_of(rank_of.at(pid)).rank_end = 1 + status;
    }
    return pid > 0 || (pid < 0 && errno == EINTR);
}

// Address space, with no memory behind it.
char* reserve(std::size_t bytes) {
    void* const place =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return place == MAP_FAILED ? nullptr : static_cast<char*>(place);
}

}  // namespace

int fork_ranks(int size) {
    const pid_t loaded = getpid();
    const pid_t proxy = getppid();
    setpgid(0, 0);
    std::map<pid_t, int> rank_of;
    int here = 0;
    while (here < size) {
        while (here < size && slot_of(here).proxy != 0) {
            const pid_t pid = fork();
            if (pid == 0) {
                become(here, loaded);
                return here;
            }
            if (pid < 0) {
                throw std::runtime_error("fork failed: too many processes?");
            }
            rank_of[pid] = here;
            ++here;
        }
        reap(rank_of, WNOHANG);
        if (getppid() != proxy) {
            _exit(1);
        }
        usleep(kNap);
    }
    while (reap(rank_of, 0)) {
    }
    _exit(0);
}

void shift_memory(int rank) {
    // malloc gives each thread a heap at a multiple of 64 MiB, MPI takes some MiB at once, and not every rank has as
    // much of both: a prime number of pages is no sum of such lengths
    constexpr std::size_t kStep = std::size_t{17189} << 12U;
    constexpr std::size_t kLargest = std::size_t{1} << 26U;
    constexpr std::size_t kSmallest = std::size_t{1} << 14U;
    const std::intptr_t place = rank + 1;
    sbrk(place << 20);
    const char* const below_all = reserve(static_cast<std::size_t>(place) * kStep);
    // the gaps between libraries are the same on all ranks: nobody gets them
    for (std::size_t bytes = kLargest; bytes >= kSmallest; bytes /= 2) {
        char* in_gap = reserve(bytes);
        while (in_gap > below_all) {
            in_gap = reserve(bytes);
        }
        munmap(in_gap, bytes);
    }
}

}  // namespace dist::harness
