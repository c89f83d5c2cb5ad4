// Exercise 06: gradients travel in half the bytes, and what was rounded away is not lost.
#pragma once

#include <ATen/core/Tensor.h>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace dist {

/// Adds `flat` up over all ranks, in messages of bfloat16. Each rank rounds its contribution once, and sends every
/// other rank that rank's chunk. It adds up its own chunk in float32, rounds the sum once, and sends it to all.
///
/// flat    in: this rank's contribution, (n) float32, contiguous; out: the sum, the same bits on every rank.
///         n >= 0; p need not divide n. One rank alone rounds as well.
/// comm    collective: every rank of `comm` makes this call.
///
/// Error   of an element x_0 + ... + x_(p-1): at most 2^-7 (|x_0| + ... + |x_(p-1)|). bfloat16 keeps 8 bits: half
///         a unit of each x, 2^-8 |x|, and once more of the sum. Away from the ends of float's range, that is.
///         NaN and infinity come out as with float.
/// Cost    at most 2(p-1) messages per rank, with at most 2(p-1)(ceil(n/p) + 1) numbers of 2 bytes: half of what
///         ring_all_reduce() sends.
/// Errors  std::invalid_argument, before any message, if `flat` is no contiguous row of float32; it stays as it
///         was then. dist::Error if a message fails.
/// Source  PyTorch, torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py, bf16_compress_hook.
void compressed_all_reduce(const at::Tensor& flat, const Communicator& comm);

/// A hook for Reducer: compressed_all_reduce(). When a call returns, the sum is there, and its future is ready.
///
/// comm    outlives the hook.
///
/// Errors  of a call: as compressed_all_reduce().
CommHook compressed_hook(const Communicator& comm);

/// compressed_hook() with error feedback. Keeps what rounding takes from this rank's contribution, the residual,
/// and adds it to the next contribution of the same bucket. A gradient that is too small to be seen beside another
/// so adds up until it is seen: over many passes nothing is lost of what this rank sends. What rounding takes from
/// the sum is not kept.
///
/// comm    outlives the hook. The hook keeps a residual for each `flat` that it is called for, as long as
///         somebody else holds that tensor: a plan that is made anew begins with zeros. Copies of a hook share
///         their residuals; two hooks do not. The residual of an element is 0 after a pass in which it was NaN or
///         infinite, or was rounded to infinity.
///
/// Cost    as compressed_hook(), and once more the memory of the gradients.
/// Errors  of a call: as compressed_all_reduce(). The residuals stay as they were then.
/// Source  Seide et al. (2014), "1-Bit Stochastic Gradient Descent and its Application to
///         Data-Parallel Distributed Training of Speech DNNs"; Karimireddy et al. (2019), "Error
///         Feedback Fixes SignSGD and other Gradient Compression Schemes".
CommHook error_feedback_hook(const Communicator& comm);

}  // namespace dist
