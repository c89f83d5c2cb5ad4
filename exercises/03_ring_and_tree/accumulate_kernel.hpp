// Exercise 03, for GPUs: the reduction's arithmetic as a kernel, a function that thousands of threads run.
#pragma once

#include <cuda_runtime_api.h>

#include "course/gpu/check.hpp"
#include "course/gpu/device_span.hpp"
#include "course/runtime/reduce_op.hpp"

namespace dist {

/// Combines `in` into `accumulated`, element by element, on the GPU: accumulated[i] = accumulated[i] op
/// in[i]. Puts the work into `stream` and returns at once.
///
/// in           n >= 0 elements on the GPU; left as they are.
/// accumulated  n elements on the GPU, in and out: combined when the stream has done this work.
/// op           mean adds, like sum: whoever finishes the reduction divides, once.
/// stream       a stream of the same GPU.
///
/// Cost         n operations.
/// Errors       std::invalid_argument if the lengths differ; dist::Error if the kernel cannot be launched.
/// Source       Harris (2013), "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops".
void accumulate_kernel(
    DeviceSpan<const float> in, DeviceSpan<float> accumulated, ReduceOp op, cudaStream_t stream
);

}  // namespace dist
