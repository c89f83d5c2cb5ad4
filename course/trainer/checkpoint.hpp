// A run on disk: everything that is needed to go on as if it had never stopped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <torch/optim/optimizer.h>

#include "course/nn/model.hpp"

namespace dist::trainer {

/// The checkpoint's file in a folder.
std::filesystem::path checkpoint_file(const std::filesystem::path& folder);

/// Makes `folder`, and tries whether a file can be written there.
///
/// Errors  std::runtime_error with the system's reason.
void expect_writable(const std::filesystem::path& folder);

/// Writes model and optimizer state, and how far the run is. The old checkpoint stays until the new
/// one is complete.
///
/// run     what two runs must have in common for one to go on where the other stopped, as text for
///         people: "model small, seed 1, ...". The number of ranks is no part of it.
/// step    steps done.
///
/// Errors  std::runtime_error with the system's reason.
void save_checkpoint(
    const std::filesystem::path& folder,
    const std::string& run,
    std::size_t step,
    const nn::Model& model,
    const torch::optim::Optimizer& optimizer
);

/// Reads what save_checkpoint wrote; returns the steps done.
///
/// Errors  std::runtime_error, saying what to do, if there is no checkpoint, if it is damaged, or
///         of another run. Model and optimizer are then of no use.
std::size_t load_checkpoint(
    const std::filesystem::path& folder,
    const std::string& run,
    nn::Model& model,
    torch::optim::Optimizer& optimizer
);

}  // namespace dist::trainer
