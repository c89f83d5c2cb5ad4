#include "course/lab/machine.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <string_view>
#include <unistd.h>

#include <mpi.h>

#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

constexpr std::string_view kPrefix = "OMPI_MCA_";
constexpr std::string_view kParts[] = {"btl", "coll", "mpi_yield_when_idle", "pml", "smsc"};

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("model name")) {
            return line.substr(line.find(':') + 2);
        }
    }
    return "unknown CPU";
}

std::string mpi_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    MPI_CHECK(MPI_Get_library_version(text.data(), &length));
    text.resize(static_cast<std::size_t>(length));
    return text.substr(0, text.find_first_of(",\n"));
}

/// Open MPI's parameters that decide how messages travel; mpirun hands them on in the environment.
std::string mpi_settings() {
    std::string settings;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        std::string_view variable(*entry);
        if (!variable.starts_with(kPrefix)) {
            continue;
        }
        variable.remove_prefix(kPrefix.size());
        for (const std::string_view part : kParts) {
            if (variable.starts_with(part)) {
                settings.append(settings.empty() ? "" : " ").append(variable);
            }
        }
    }
    return settings.empty() ? "defaults" : settings;
}

cpu_set_t own_cores() {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    return mine;
}

/// Where it is forbidden, the table says that ranks are not bound.
void stay_on(std::size_t core) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(core, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

}  // namespace

RanksHere::RanksHere(const Communicator& comm) {
    MPI_CHECK(MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &handle_));
    MPI_CHECK(MPI_Comm_size(handle_, &size_));
    MPI_CHECK(MPI_Comm_rank(handle_, &rank_));
}

RanksHere::~RanksHere() {
    MPI_Comm_free(&handle_);
}

cpu_set_t RanksHere::cores() const {
    // a rank may be bound to one core, and the job to a part of the machine
    cpu_set_t all = own_cores();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &all, sizeof all, MPI_BYTE, MPI_BOR, handle_));
    return all;
}

Placement::Placement(const Communicator& comm) : before_(own_cores()) {
    const RanksHere here(comm);
    const cpu_set_t all = here.cores();
    rank_ = static_cast<std::size_t>(here.rank());
    shared_ = here.size() > CPU_COUNT(&all);
    int fewest = CPU_COUNT(&before_);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &fewest, 1, MPI_INT, MPI_MIN, here.handle()));
    if (fewest == 1 && !shared_) {
        return;  // the launcher has seen to it
    }
    const auto ranks = static_cast<std::size_t>(here.size());
    for (std::size_t core = 0; cores_.size() < ranks; core = (core + 1) % CPU_SETSIZE) {
        if (CPU_ISSET(core, &all)) {
            cores_.push_back(core);
        }
    }
    stay_on(cores_[rank_]);
}

Placement::~Placement() {
    sched_setaffinity(0, sizeof before_, &before_);
}

void Placement::draw() {
    if (shared_) {
        std::ranges::shuffle(cores_, random_);
        stay_on(cores_[rank_]);
    }
}

Machine describe_machine(const Communicator& comm) {
    Machine machine;
    machine.cpu = cpu_model();
    machine.mpi = mpi_version();
    machine.mpi_settings = mpi_settings();
    machine.ranks = comm.size();
    getloadavg(&machine.load, 1);

    const RanksHere here(comm);
    const cpu_set_t mine = own_cores();
    const int own = CPU_COUNT(&mine);
    const cpu_set_t all = here.cores();

    std::array<int, 3> largest{here.size(), own, -CPU_COUNT(&all)};
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, largest.data(), 3, MPI_INT, MPI_MAX, comm.handle()));
    machine.ranks_per_node = largest[0];
    machine.cores = -largest[2];
    machine.bound = largest[1] == 1 && machine.ranks_per_node <= machine.cores;
    const int first = here.rank() == 0 ? 1 : 0;
    MPI_CHECK(MPI_Allreduce(&first, &machine.nodes, 1, MPI_INT, MPI_SUM, comm.handle()));
    return machine;
}

}  // namespace dist::lab
