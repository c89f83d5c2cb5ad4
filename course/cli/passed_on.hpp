// Commands that start a program of the course on many ranks, and pass options on to it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/cli/command.hpp"
#include "course/process/mpirun.hpp"

namespace dist::cli {

/// What the command does not know is kept for its program, in order: command.remaining().
void pass_on_the_rest(Command& command, Context& context);

/// Builds a target; while its product is not there yet, says so on standard error.
/// Errors  as build_targets
void build_with_notice(
    Context& context,
    const std::string& target,
    const std::filesystem::path& product,
    const std::string& notice
);

/// The ranks of a run, and where they are.
struct Ranks {
    int count = 0;  // 0, on hosts only: one for each slot
    Hosts hosts = {};
    bool over_tcp = false;               // MPI's messages go through sockets, also within a machine
    std::filesystem::path starter = {};  // what starts them in mpirun's place, on this machine
};

/// `mpirun`, or the starter, on the terminal, in the caller's folder. Returns the exit status.
///
/// Errors  UsageError for ranks or hosts that there are not.
int run_ranks(
    Context& context,
    const Ranks& ranks,
    Purpose purpose,
    const std::filesystem::path& program,
    const std::vector<std::string>& arguments
);

/// Refuses a number of ranks that this machine is too small for. On hosts, their slots decide.
void expect_rank_count(const Ranks& ranks);

/// For both commands' help.
inline constexpr const char* kHostfileHelp =
    "File of machines to run on, one a line: node1 slots=2. Without -n each slot gets a rank. A "
    "Slurm "
    "job needs no file: it runs on its nodes";

}  // namespace dist::cli
