// Note [Answers] To start a job takes half a second of a core, with LibTorch more than one: mpirun, its proxies, loading,
// MPI_Init. A wrong answer then runs one test, in a tenth of that. So `check` starts one job for several: each rank starts
// MPI, and then forks a process for each answer in turn, in which that answer is loaded with its test, from a shared object.
//
//     loaded program -+- rank 0 of the job --- rank 0 of answer 0, then of answer 1, ...
//                     +- rank 1 of the job --- rank 1 of answer 0, then of answer 1, ...
//
// An answer finds everything as at a start, whatever the one before it did, since that was another process: its memory,
// its threads, the settings of LibTorch, the environment and the place where it stood. It has a folder, a board and records
// of its own. What processes of two answers share is the memory through which Open MPI passes messages. The ranks
// of the job pass none themselves. So when all of an answer's processes have ended, that memory is put back to what it was
// before the first: it is as their own half of MPI, which they hand on to the next by fork(), left it.
//
// Not all of MPI lives in a forked process: its thread that talks with mpirun does not. Nothing here needs it: who is in
// the job was asked at the start, and messages, communicators and collectives go through the shared memory.
//
// The ranks of the job watch over the answers' as any watcher does (watcher.hpp).
#include "tests/harness/job/answers.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <mpi.h>

#include "tests/harness/job/shared_folder.hpp"
#include "tests/harness/job/watcher.hpp"
#include "tests/harness/proxy/obey_mpirun.hpp"
#include "tests/harness/roll_call/map_board.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr int kMeetNap = 500;  // us

struct Entry {
    std::string library;
    std::string test;
};

std::vector<Entry> answers_in(const std::string& file) {
    std::vector<Entry> answers;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t tab = line.find('\t');
        if (tab == std::string::npos) {
            throw std::runtime_error(file + ": a line without a tab");
        }
        answers.push_back({line.substr(0, tab), line.substr(tab + 1)});
    }
    return answers;
}

// Waits until all ranks of the job have come as often as this one.
void meet(Board& job) {
    const int count = ++job.slot[world_rank()].met;
    for (int r = 0; r < world_size(); ++r) {
        while (job.slot[r].met < count) {
            if (mpirun_ends_us) {
                _exit(1);
            }
            usleep(kMeetNap);
        }
    }
}

// Ranks find each other when they first exchange a message: afterwards nothing is left to be found.
void greet_everyone() {
    for (int distance = 0; distance < world_size(); ++distance) {
        const int to = (world_rank() + distance) % world_size();
        const int from = (world_rank() + world_size() - distance) % world_size();
        PMPI_Sendrecv(
            nullptr, 0, MPI_BYTE, to, 0, nullptr, 0, MPI_BYTE, from, 0, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE
        );
    }
    PMPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

void load_answer(const std::string& library) {
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    link_map* map = nullptr;
    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) {
        throw std::runtime_error(std::string("cannot load an answer: ") + dlerror());
    }
    look_at_library(map->l_addr);
}

namespace {

// The board of an answer, with what its ranks and watchers ask of a job.
void enter_board(const std::string& folder, const Board& job) {
    open_board(folder, world_size());
    board().mpirun = job.mpirun.load();
    my_slot().proxy = job.slot[world_rank()].proxy.load();
}

void enter_folder(const std::string& folder, const Entry& answer) {
    setenv(kEnvFolder, folder.c_str(), 1);
    setenv(kEnvTest, answer.test.c_str(), 1);
    std::filesystem::current_path(folder + "/work");
}

}  // namespace

bool tries_several() {
    return std::getenv(kEnvAnswers) != nullptr;
}

void for_each_answer(const TryOne& try_one) {
    const std::string folder = std::getenv(kEnvFolder);
    const char* const shared = std::getenv(kEnvShared);
    Board& job = map_board(folder);
    job.slot[world_rank()].watcher = getpid();
    job.slot[world_rank()].planned = 1;
    obey_mpirun_only(job.mpirun);
    greet_everyone();
    meet(job);
    std::optional<const SharedFolder> at_start;
    if (world_rank() == 0 && shared != nullptr) {
        at_start.emplace(shared);
    }
    int number = 0;
    for (const Entry& answer : answers_in(std::getenv(kEnvAnswers))) {
        const std::string own = folder + "/" + std::to_string(number++);
        enter_board(own, job);
        meet(job);
        if (fork_watched_rank(own + "/rank-" + std::to_string(world_rank()) + ".out")) {
            enter_folder(own, answer);
            try_one(own, answer.library);
        }
        meet(job);
        if (at_start) {
            at_start->put_back();
        }
        meet(job);
    }
    job.slot[world_rank()].end = End::finished;
}

}  // namespace dist::harness
