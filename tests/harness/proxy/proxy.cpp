// What mpirun starts for each rank: `rank_proxy TEST`. The test's program itself is loaded once, by rank 0's proxy, and
// forks a process for each rank: loading LibTorch takes most of a second. A proxy lends its rank the environment and the
// process group that mpirun made for it, and ends as its rank did. Note [Proxies] in tests/harness/job/ranks.cpp.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "course/protocol/protocol.hpp"

namespace {

using dist::harness::Board;
using dist::harness::Slot;

constexpr int kNap = 5'000;  // us

std::atomic<bool> mpirun_ends_us = false;

// A rank that sends a signal to its whole group means the proxy, too; only mpirun is obeyed.
void obey_mpirun_only() {
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
        mpirun_ends_us = mpirun_ends_us || info->si_pid == getppid();
    };
    sigaction(SIGTERM, &action, nullptr);
    for (const int signal : {SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
        std::signal(signal, SIG_IGN);
    }
}

[[noreturn]] void refuse(const std::string& reason) {
    std::fprintf(stderr, "rank_proxy: %s\n", reason.c_str());
    _exit(70);
}

Board& open_board(const std::string& folder) {
    const std::string file = folder + "/board";
    const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
    void* memory =
        descriptor < 0
            ? MAP_FAILED
            : mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
        refuse("cannot map " + file);
    }
    return *static_cast<Board*>(memory);
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
    obey_mpirun_only();
    board.mpirun = getppid();
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
        if (mpirun_ends_us && slot.watcher == 0) {
            _exit(1);  // a watcher that comes later finds no proxy
        }
        usleep(kNap);
    }
}
