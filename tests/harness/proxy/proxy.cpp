// What mpirun starts for each rank: `rank_proxy TEST`. The test's program itself is loaded once, by rank 0's proxy, and
// forks a process for each rank: loading LibTorch takes most of a second. A proxy lends its rank the environment and the
// process group that mpirun made for it, and ends as its rank did. Note [Proxies] in tests/harness/job/ranks.cpp.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "course/protocol/protocol.hpp"
#include "tests/harness/proxy/obey_mpirun.hpp"
#include "tests/harness/roll_call/map_board.hpp"

namespace {

using dist::harness::Board;
using dist::harness::Slot;

constexpr int kNap = 5'000;  // us

[[noreturn]] void refuse(const std::string& reason) {
    std::fprintf(stderr, "rank_proxy: %s\n", reason.c_str());
    _exit(70);
}

Board& open_board(const std::string& folder) try {
    return dist::harness::map_board(folder);
} catch (const std::runtime_error& error) {
    refuse(error.what());
}

pid_t load(char* const* command) {
    const pid_t pid = fork();
    if (pid < 0) {
        refuse("fork failed: too many processes?");
    }
    if (pid == 0) {
        for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
            std::signal(signal, SIG_DFL);
        }
        execv(command[0], command);
        refuse(std::string("cannot start ") + command[0]);
    }
    return pid;
}

// As a process did whose wait status this is.
[[noreturn]] void end_like(int status) {
    if (WIFSIGNALED(status)) {
        std::signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFSIGNALED(status) ? 1 : WEXITSTATUS(status));
}

}  // namespace

int main(int argc, char** argv) {
    const char* folder = std::getenv(dist::harness::kEnvFolder);
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    rank = rank == nullptr ? std::getenv("PMIX_RANK") : rank;
    if (argc < 2 || folder == nullptr || rank == nullptr) {
        refuse("starts a rank of a test; ./shardlings run NAME starts them all");
    }
    Board& board = open_board(folder);
    Slot& slot = board.slot[std::clamp(std::atoi(rank), 0, dist::harness::kMaxRanks - 1)];
    board.mpirun = getppid();
    dist::harness::obey_mpirun_only(board.mpirun);
    slot.proxy = getpid();
    const pid_t loaded = std::atoi(rank) == 0 ? load(argv + 1) : -1;
    int ended = 0;
    while (true) {
        if (loaded > 0 && board.loaded_end == 0 && waitpid(loaded, &ended, WNOHANG) == loaded) {
            board.loaded_end = 1 + ended;
        }
        const int loaded_end = board.loaded_end;  // first: ranks end before it
        const int rank_end = slot.rank_end;
        // nothing is to be left when mpirun ends after a pass: rank 0 goes after the process all come from
        if (rank_end > 1 || (rank_end == 1 && (loaded < 0 || loaded_end != 0))) {
            end_like(rank_end - 1);
        }
        if (rank_end == 0 && loaded_end != 0) {
            end_like(loaded_end - 1);
        }
        if (dist::harness::mpirun_ends_us && slot.watcher == 0) {
            _exit(1);  // a watcher that comes later finds no proxy
        }
        usleep(kNap);
    }
}
