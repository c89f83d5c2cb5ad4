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

/// What a run needs to go on.
struct Checkpoint {
    std::string run;  // see describe_run
    Steps steps;
    StateDict state;
};

/// Writes a dict as torch.save writes one, with no name in it that torch.load refuses with weights_only=True: "run", the
/// steps that are done as "step", those of the whole run as "all_steps", and the tensors, each under its own name. The
/// old checkpoint stays until the new one is complete.
///
/// writer   has taken the file; none: whoever writes last wins.
///
/// Errors   std::runtime_error with the system's reason, or if another writer has taken the file.
void save_checkpoint(
    const std::filesystem::path& folder,
    const Checkpoint& checkpoint,
    files::SoleWriter* writer = nullptr
);

/// Reads it, whatever run it is of.
///
/// Errors   std::runtime_error, saying what to do, if there is no checkpoint, or if it is damaged.
Checkpoint read_checkpoint(const std::filesystem::path& folder);

/// Goes on from a checkpoint of this run.
///
/// file     that it was read from.
/// load     gets the tensors.
///
/// Errors   std::runtime_error, saying what to do, if it is of another run, or if `load` throws. What
///          was loaded is then of no use.
void load_checkpoint(
    const std::filesystem::path& file,
    const Checkpoint& saved,
    const std::string& run,
    const std::function<void(const StateDict&)>& load
);

}  // namespace dist::trainer
