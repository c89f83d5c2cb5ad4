// Runs that are more than a loop over equal ranks. A trainer of equal replicas alone takes no_other_runs.cpp in the place of
// other_runs.cpp.
#pragma once

#include <filesystem>
#include <functional>

#include "course/runtime/communicator.hpp"
#include "course/trainer/options.hpp"
#include "course/trainer/task.hpp"

namespace dist::trainer {

/// What flight records in `folder` tell: train --diagnose.
/// Errors  std::runtime_error where there are none
void print_diagnosis(const std::filesystem::path& folder);

/// Some ranks serve the parameters; the others call `train`, with options that reach them: train --parallel ps.
void train_beside_servers(
    const Task& task,
    const Options& options,
    const Communicator& comm,
    const std::function<void(const Options& with_rpc, const Communicator& workers)>& train
);

/// A replica of train --fault-tolerant (quorum_parts.hpp).
void run_replica(const Options& options, const Communicator& alone);

/// Before MPI begins: replica_group.hpp's leave_world().
void leave_world_if_replica(int argc, char** argv);

}  // namespace dist::trainer
