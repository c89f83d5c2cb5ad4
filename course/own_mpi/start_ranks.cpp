// start_ranks RANKS PROGRAM [ARGUMENTS]: runs so many copies of a program on this machine, each as a rank, without mpirun.
//
// They meet at a store that this process serves: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say how, as torchrun has it.
// Ends with the status of the first rank that failed; the others are ended then. Ctrl-C reaches all of them.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

namespace {

void say(const char* name, int value) {
    setenv(name, std::to_string(value).c_str(), 1);
}

[[noreturn]] void be_rank(int rank, char** command, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(1);
    }
    say("RANK", rank);
    say("LOCAL_RANK", rank);
    execvp(command[0], command);
    std::fprintf(stderr, "start_ranks: %s: %s\n", command[0], std::strerror(errno));
    _exit(127);
}

int status_of(int waited) {
    return WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited);
}

bool asks_to_end(int signal) {
    return signal == SIGINT || signal == SIGTERM;
}

void end_all(const std::vector<pid_t>& ranks) {
    for (const pid_t rank : ranks) {
        if (rank != 0) {
            kill(rank, SIGTERM);
            kill(rank, SIGCONT);  // one that is stopped has to go on to end
        }
    }
}

// Waits for all. The first that fails decides how this ends, and ends the others.
int wait_for(std::vector<pid_t> ranks, int status) {
    for (std::size_t left = ranks.size(); left > 0;) {
        int waited = 0;
        const auto ended = std::ranges::find(ranks, waitpid(-1, &waited, 0));
        if (ended == ranks.end()) {
            continue;  // a signal came, and the ranks have it too
        }
        *ended = 0;
        --left;
        if (status != 0 || status_of(waited) == 0) {
            continue;
        }
        status = status_of(waited);
        if (WIFSIGNALED(waited) && !asks_to_end(WTERMSIG(waited))) {
            const char* const name = sigabbrev_np(WTERMSIG(waited));
            std::fprintf(stderr, "rank %td died of SIG%s\n", ended - ranks.begin(), name);
        }
        end_all(ranks);
    }
    return status;
}

// Starts them, and waits for them.
int run(int ranks, char** command) {
    const dist::TcpStoreServer store;
    say("WORLD_SIZE", ranks);
    say("LOCAL_WORLD_SIZE", ranks);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    say("MASTER_PORT", store.port());
    const pid_t parent = getpid();
    std::vector<pid_t> started;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t pid = fork();
        if (pid == 0) {
            be_rank(rank, command, parent);
        }
        if (pid < 0) {
            std::perror("start_ranks: fork");
            end_all(started);
            return wait_for(started, 1);
        }
        started.push_back(pid);
    }
    signal(SIGINT, SIG_IGN);  // the ranks have it from the terminal as well
    return wait_for(started, 0);
}

}  // namespace

int main(int argc, char** argv) {
    const int ranks = argc > 2 ? std::atoi(argv[1]) : 0;
    if (ranks < 1) {
        std::fputs("Usage: start_ranks RANKS PROGRAM [ARGUMENTS]\n", stderr);
        return 2;
    }
    try {
        return run(ranks, argv + 2);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "start_ranks: %s\n", error.what());
        return 1;
    }
}
