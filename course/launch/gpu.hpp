// Exercises for GPUs: what this machine can do with them. The same test is linked twice, with CUDA and
// NCCL, and with the host's stand-in for both (tests/harness/gpu), which tries the logic anywhere,
// and proves nothing about a GPU: it is shown, and never is a pass.
#pragma once

#include <string>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Why GPU exercises are not built here, as a sentence; empty: they are. Configures first when need be.
std::string gpu_code_missing(Context& context);

/// The test of `program` with the stand-in in the place of CUDA and NCCL.
Program on_stand_in(Program program);

}  // namespace dist::cli
