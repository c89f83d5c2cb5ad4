// The one place that knows how mpirun is called.
#pragma once

#include <string>
#include <vector>

#include "course/process/hosts.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {

/// What a program is started for.
enum class Purpose {
    test,     // any rank may die at any moment; more ranks than cores are usual
    work,     // messages take the fastest way there is
    measure,  // likewise, and each rank stays on a core of its own where there are enough
};

/// `mpirun -np ranks` with its flags; append the program and its arguments. On hosts messages take the network that MPI
/// finds there.
///
/// ranks   0, on hosts only: one for each slot.
std::vector<std::string> mpirun(int ranks, Purpose purpose, const Hosts& hosts = {});

/// What mpirun and the ranks need in their environment.
Environment mpi_environment(int ranks, Purpose purpose, const Hosts& hosts = {});

}  // namespace dist::cli
