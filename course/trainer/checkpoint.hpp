// A run on disk: everything that is needed to go on as if it had never stopped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "course/files/sole_writer.hpp"
#include "course/parallel/state_dict.hpp"
#include "course/trainer/steps.hpp"

namespace dist::trainer {

/// Makes `folder`, and tries whether a file can be written there.
///
/// Errors  std::runtime_error with the system's reason.
void expect_writable(const std::filesystem::path& folder);

/// Writes how far the run is, and its tensors: a dict as torch.save writes one, with no name in it that
/// torch.load refuses with weights_only=True. The old checkpoint stays until the new one is complete.
///
/// run      see describe_run; "run" in the file.
/// steps    done, "step", and of the whole run, "all_steps".
/// state    the tensors, each under its own name.
/// writer   has taken the file; none: whoever writes last wins.
///
/// Errors   std::runtime_error with the system's reason, or if another writer has taken the file.
void save_checkpoint(
    const std::filesystem::path& folder,
    const std::string& run,
    const Steps& steps,
    const StateDict& state,
    files::SoleWriter* writer = nullptr
);

/// What save_checkpoint wrote.
struct Checkpoint {
    std::string run;
    Steps steps;
    StateDict state;
};

/// Reads it, whatever run it is of.
///
/// Errors   std::runtime_error, saying what to do, if there is no checkpoint, or if it is damaged.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

/// Reads what save_checkpoint wrote for this run; returns the steps.
///
/// load     gets the tensors.
///
/// Errors   std::runtime_error, saying what to do, if there is no checkpoint, if it is damaged, or
///          of another run. What was loaded is then of no use.
Steps load_checkpoint(
    const std::filesystem::path& folder,
    const std::string& run,
    const std::function<void(const StateDict&)>& load
);

}  // namespace dist::trainer
