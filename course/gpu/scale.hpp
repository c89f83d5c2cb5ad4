// The host's `scale` (course/runtime/reduce_op.hpp) for memory of a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "course/gpu/device_span.hpp"

namespace dist {

/// Multiplies every element of `data` by `factor`.
///
/// stream  the work is put there; this call does not wait for it.
///
/// Cost    n operations, 8n bytes of the GPU's memory traffic.
/// Errors  dist::Error if the launch fails.
void scale(DeviceSpan<float> data, float factor, cudaStream_t stream);

}  // namespace dist
