#include "course/parallel/flight.hpp"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/runtime/error.hpp"

namespace dist::trainer {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kCapacity = 2000;  // PyTorch's TORCH_FR_BUFFER_SIZE

std::atomic<Flight*> current = nullptr;  // that records

void end_by_sigterm() {
    std::signal(SIGTERM, SIG_DFL);
    kill(getpid(), SIGTERM);
}

extern "C" void on_sigterm(int /*signal*/) {
    if (Flight* const flight = current) {
        flight->tell_to_end();
    } else {
        end_by_sigterm();
    }
}

// mpirun lets a stopped rank go on, and a second later sends SIGTERM: until then it is to do nothing more.
extern "C" void on_sigcont(int /*signal*/) {
    constexpr timespec kLonger = {1, 500'000'000};
    nanosleep(&kLonger, nullptr);
}

void handle_signals() {
    struct sigaction action = {};
    action.sa_flags = SA_RESTART;
    action.sa_handler = on_sigcont;
    sigaction(SIGCONT, &action, nullptr);
    action.sa_handler = on_sigterm;
    sigaddset(&action.sa_mask, SIGCONT);  // where both have come, this one is first
    sigaction(SIGTERM, &action, nullptr);
}

// A thread that was stopped goes on beside the handler. So it is to be the handler's own: the one that calls collectives.
void leave_signals_to_the_first_thread() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCONT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

fs::path Flight::file_in(const fs::path& folder, int rank) {
    const std::string name = "rank-" + std::to_string(rank) + ".flight";
    const char* const log = std::getenv("WORKER_LOG");  // launch's
    if (folder.empty()) {
        return log == nullptr ? "" : std::string(log) + "." + name;
    }
    fs::create_directories(folder);
    if (rank == 0) {
        for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
            if (entry.path().extension() == ".flight") {
                fs::remove(entry.path());
            }
        }
    }
    return folder / name;
}

Flight::Flight(fs::path file, const Communicator& all)
    : file_(std::move(file)),
      rank_(all.rank()),
      size_(all.size()),
      recorder_(rank_, kCapacity, clock_) {
    sem_init(&bell_, 0, 0);
    if (!file_.empty()) {
        current = this;
        thread_ = std::thread(&Flight::write_when_told, this);
        handle_signals();
    }
}

Flight::~Flight() {
    if (thread_.joinable()) {
        std::signal(SIGCONT, SIG_DFL);
        current = nullptr;  // from here on SIGTERM ends the process
        sem_post(&bell_);
        thread_.join();
        write();
    }
    sem_destroy(&bell_);
}

// The handler may come in the middle of anything, and only rings.
void Flight::tell_to_end() {
    is_told_ = true;
    sem_post(&bell_);
}

void Flight::write_when_told() {
    leave_signals_to_the_first_thread();
    while (sem_wait(&bell_) != 0) {
    }
    if (is_told_) {
        write();
        end_by_sigterm();
    }
}

void Flight::write() {
    const std::scoped_lock guard(writing_);
    std::ofstream(file_) << recorder_.dump().text();
}

std::string Flight::group_of(const Communicator& comm) {
    {
        const std::scoped_lock guard(lock_);
        if (const auto known = groups_.find(comm.handle()); known != groups_.end()) {
            return known->second;
        }
    }
    std::vector<int> members(static_cast<std::size_t>(comm.size()));
    MPI_CHECK(MPI_Allgather(&rank_, 1, MPI_INT, members.data(), 1, MPI_INT, comm.handle()));
    std::string name = comm.size() == size_ ? "all" : std::to_string(members[0]);
    for (std::size_t i = 1; comm.size() < size_ && i < members.size(); ++i) {
        name += ", " + std::to_string(members[i]);
    }
    const std::scoped_lock guard(lock_);
    if (const int count = ++same_[name]; count > 1) {
        name += " (" + std::to_string(count) + ")";
    }
    recorder_.add_group(name, members);
    return groups_[comm.handle()] = name;
}

std::int64_t Flight::begin(
    const Communicator& comm, const FlightCall& call, const SourceLine& where
) {
    if (std::this_thread::get_id() != first_) {
        leave_signals_to_the_first_thread();
    }
    while (is_told_) {
        pause();  // what has not begun is no part of what is to be written
    }
    const std::int64_t id = recorder_.schedule(group_of(comm), call, where);
    recorder_.start(id);
    return id;
}

void write_flight_record() {
    if (Flight* const flight = current) {
        flight->write();
    }
}

Noted::Noted(const Communicator& comm, const FlightCall& call, const SourceLine& where)
    : exceptions_(std::uncaught_exceptions()) {
    Flight* const flight = current;
    if (flight != nullptr && comm.size() > 1) {
        id_ = flight->begin(comm, call, where);
    }
}

Noted::~Noted() {
    Flight* const flight = current;
    if (id_ != 0 && flight != nullptr && std::uncaught_exceptions() == exceptions_) {
        flight->end(id_);
    }
}

}  // namespace dist::trainer
