#include "course/lab/other_work.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <string>
#include <unistd.h>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

constexpr double kShortestS = 0.02;

double own_cpu_s() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// Seconds that these cores were idle since the machine started: fields 5 and 6 of proc(5), /proc/stat.
double idle_s(const cpu_set_t& cores) {
    std::ifstream file("/proc/stat");
    double ticks = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        std::string core;
        double user = 0;
        double nice = 0;
        double system = 0;
        double idle = 0;
        double waiting_for_disks = 0;
        in >> core >> user >> nice >> system >> idle >> waiting_for_disks;
        if (core.starts_with("cpu") && core.size() > 3 &&
            CPU_ISSET(std::stoul(core.substr(3)), &cores)) {
            ticks += idle + waiting_for_disks;
        }
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

OtherWork::OtherWork(const Communicator& comm)
    : comm_(comm), here_(comm), cores_(here_.cores()), before_(now()) {}

OtherWork::Used OtherWork::now() const {
    return {now_s(), own_cpu_s(), idle_s(cores_)};
}

double OtherWork::share() {
    const Used after = now();
    const double elapsed_s = after.at_s - before_.at_s;
    double own_s = after.own_s - before_.own_s;
    const double idle_s = after.idle_s - before_.idle_s;
    before_ = after;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &own_s, 1, MPI_DOUBLE, MPI_SUM, here_.handle()));
    const double cores = CPU_COUNT(&cores_);
    const double used_by_ranks = std::min<double>(here_.size(), cores);
    const double others = cores - (own_s + idle_s) / elapsed_s;  // cores that others had
    const double taken = (others - (cores - used_by_ranks)) / used_by_ranks;
    double share = elapsed_s < kShortestS ? 0.0 : std::clamp(taken, 0.0, 1.0);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_MAX, comm_.handle()));
    return share;
}

}  // namespace dist::lab
