// The machines that ranks are started on: this one, those of a hostfile, or those that Slurm has allocated.
#pragma once

#include <filesystem>
#include <string>

#include "course/process/context.hpp"

namespace dist::cli {

struct Hosts {
    std::filesystem::path file = {};  // Open MPI's: a host a line, "node1 slots=2"; empty: none
    bool allocated = false;           // by Slurm, whose nodes and tasks mpirun knows by itself

    /// Only this machine, by loopback and shared memory.
    [[nodiscard]] bool none() const { return file.empty() && !allocated; }
};

/// Those of `--hostfile`; without one those of the Slurm job that this process belongs to, if it does.
///
/// Errors  UsageError if the file is not there, or names no host.
Hosts find_hosts(const std::string& hostfile);

/// Starts a process on each of these hosts that looks for `program`, before anything long begins.
///
/// ranks   as for mpirun().
///
/// Errors  UsageError, one line: which host cannot be reached, which does not have the program, or that there are not so
///         many slots. Interrupted.
void expect_reachable(
    const Context& context, int ranks, const Hosts& hosts, const std::filesystem::path& program
);

}  // namespace dist::cli
