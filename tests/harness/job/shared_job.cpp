// Note [Shared jobs] To start a job takes half a second of a core, with LibTorch more than one: mpirun, its proxies, loading,
// MPI_Init. So one job tries many answers, of any exercise that needs the same: each rank starts
// MPI, and then forks a process for each answer in turn, in which that answer is loaded with its test, from a shared object.
//
//     loaded program -+- rank 0 of the job --- rank 0 of answer 0, then of answer 1, ...
//                     +- rank 1 of the job --- rank 1 of answer 0, then of answer 1, ...
//
// An answer finds everything as at a start, whatever the one before it did, since that was another process: its memory,
// its threads, the settings of LibTorch, the environment and the place where it stood. It has a folder, a board, a secret and
// records of its own. What processes of two answers share is the memory through which Open MPI passes messages. The ranks
// of the job pass none themselves. So when all of an answer's processes have ended, that memory is put back to what it was
// before the first: it is as their own half of MPI, which they hand on to the next by fork(), left it.
//
// Not all of MPI lives in a forked process: its thread that talks with mpirun does not. Nothing here needs it: who is in
// the job was asked at the start, and messages, communicators and collectives go through the shared memory.
//
// The ranks of the job watch over the answers' as any watcher does (watcher.hpp), and sleep until the next one comes.
#include "tests/harness/job/shared_job.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <mpi.h>

#include "course/protocol/await.hpp"
#include "tests/harness/job/secret.hpp"
#include "tests/harness/job/shared_folder.hpp"
#include "tests/harness/job/watcher.hpp"
#include "tests/harness/proxy/obey_mpirun.hpp"
#include "tests/harness/roll_call/map_board.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr int kMeetNap = 200;      // us
constexpr int kMostWaitMs = 1000;  // for an answer, before a look at who is still there

struct OneAnswer {
    std::string library;
    std::vector<std::pair<std::string, std::string>> settings;  // of the environment
};

OneAnswer read_answer(const std::string& folder) {
    OneAnswer answer;
    std::ifstream file(folder + "/answer");
    std::getline(file, answer.library);
    for (std::string line; std::getline(file, line);) {
        const std::size_t equals = line.find('=');
        answer.settings.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    if (answer.library.empty()) {
        throw std::runtime_error(folder + "/answer names no library");
    }
    return answer;
}

// While it lives, the environment is that of one answer: its watcher obeys limits in it as well.
class Settings {
  public:
    explicit Settings(const OneAnswer& answer) : answer_(answer) {
        for (const auto& [name, value] : answer.settings) {
            setenv(name.c_str(), value.c_str(), 1);
        }
    }
    ~Settings() {
        for (const auto& [name, value] : answer_.settings) {
            unsetenv(name.c_str());
        }
    }
    Settings(const Settings&) = delete;
    Settings& operator=(const Settings&) = delete;

  private:
    const OneAnswer& answer_;
};

// Waits for the answer of that number; false where mpirun ends this job.
bool comes(const Board& job, int number) {
    for (int in = job.handed_in; in <= number; in = job.handed_in) {
        if (mpirun_ends_us) {
            return false;
        }
        wait_while(job.handed_in, in, kMostWaitMs);
    }
    return true;
}

// Ends what an answer has started and left. It fell to this process, which forked the answer's rank.
void end_what_is_left() {
    const std::string own = std::to_string(getpid());
    bool is_told = true;  // not every kernel lists children: then they end with the job
    while (is_told && waitpid(-1, nullptr, WNOHANG) >= 0) {
        std::ifstream children("/proc/" + own + "/task/" + own + "/children");
        is_told = children.good();
        for (pid_t pid = 0; children >> pid;) {
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
            ++board().left;
        }
    }
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

void enter_folder(const std::string& folder) {
    setenv(kEnvFolder, folder.c_str(), 1);
    std::filesystem::current_path(folder + "/work");
}

}  // namespace

bool is_shared_job() {
    return std::getenv(kEnvSharedJob) != nullptr;
}

void for_each_answer(const TryOne& try_one) {
    const std::string folder = std::getenv(kEnvFolder);
    const char* const shared = std::getenv(kEnvShared);
    Board& job = map_board(folder);
    job.slot[world_rank()].watcher = getpid();
    job.slot[world_rank()].planned = 1;
    obey_mpirun_only(job.mpirun);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    greet_everyone();
    meet(job);
    std::optional<const SharedFolder> at_start;
    if (world_rank() == 0 && shared != nullptr) {
        at_start.emplace(shared);
    }
    for (int number = 0; comes(job, number); ++number) {
        const std::string own = folder + "/" + std::to_string(number);
        enter_board(own, job);
        const OneAnswer answer = read_answer(own);
        read_secret(own.c_str(), false);
        meet(job);
        const Settings settings(answer);
        if (fork_watched_rank(own + "/rank-" + std::to_string(world_rank()) + ".out")) {
            setpgid(0, 0);  // what it sends to its group is for this answer alone
            enter_folder(own);
            try_one(own, answer.library);
        }
        end_what_is_left();
        meet(job);
        if (world_rank() == 0) {
            store_and_wake(job.tried, number + 1);
            if (at_start) {
                at_start->put_back();
            }
        }
        meet(job);
    }
    job.slot[world_rank()].end = End::finished;
}

}  // namespace dist::harness
