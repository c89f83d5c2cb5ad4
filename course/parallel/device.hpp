// Where a rank computes.
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <torch/version.h>

#include "course/parallel/options.hpp"
#include "course/parallel/stop.hpp"

namespace dist::trainer {

/// The CPU, or a GPU: rank r's is number r of as many as there are.
///
/// Errors  Stop if there is none, or LibTorch was made for CPUs.
inline at::Device device_of(const ParallelOptions& options, int rank) {
    if (options.device == "cpu") {
        return {at::kCPU};
    }
    if (!at::hasCUDA()) {
        throw Stop(
            "--device cuda: LibTorch " TORCH_VERSION
            " sees no GPU here; one that can use them is found by export LibTorch_ROOT=FOLDER"
        );
    }
    const auto gpus = static_cast<int>(at::getNumGPUs());
    return {at::kCUDA, static_cast<at::DeviceIndex>(rank % gpus)};
}

}  // namespace dist::trainer
