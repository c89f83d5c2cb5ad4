// The trainer's command line, as far as it tells of a mesh: --parallel 3d.
#pragma once

#include <CLI/CLI.hpp>

#include "course/trainer/options.hpp"

namespace dist::trainer {

/// --mesh, --micro-batches, --pipeline, --chunks, --sequence-parallel, --zero and --shard-ranks.
void declare_mesh(CLI::App& app, Options& options);

/// Sets what follows from other options, where it was not given. Whether the mesh has as many parts
/// as there are ranks, ThreeD sees.
///
/// app     has parsed them.
///
/// Errors  Stop, with one line, if this model or batch cannot be cut so.
void expect_mesh(const CLI::App& app, Options& options);

}  // namespace dist::trainer
