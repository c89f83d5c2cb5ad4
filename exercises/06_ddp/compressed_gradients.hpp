// Exercise 06: gradients travel in half the bytes, and what was rounded away is not lost.
#pragma once

#include <ATen/core/Tensor.h>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace dist {

/// Adds `flat` up over all ranks, in messages of bfloat16: each rank rounds its own once, sends each
/// other rank that rank's chunk, adds up its own chunk in float32, rounds the sum once, and sends it to
/// all. (Added up in bfloat16 on the way, as a ring would, a sum is rounded p-1 times.)
///
/// flat    in: this rank's contribution, (n) float32, contiguous; out: the sum, the same bits on every
///         rank. n >= 0; p need not divide n. With one rank it is rounded all the same.
/// comm    collective: every rank of `comm` makes this call.
///
/// Error   of an element x_0 + ... + x_(p-1): at most 2^-7 (|x_0| + ... + |x_(p-1)|), as bfloat16 keeps 8
///         bits: half a unit of each x, 2^-8 |x|, and once more of the sum. NaN and infinity come out
///         as with float. Away from the ends of float's range, that is.
/// Cost    at most 2(p-1) messages per rank, with at most 2(p-1)(ceil(n/p) + 1) numbers of 2 bytes: half of
///         what ring_all_reduce() sends.
/// Errors  std::invalid_argument, before any message, if `flat` is no contiguous row of float32;
///         dist::Error if a message fails.
/// Source  PyTorch, torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py, bf16_compress_hook.
void compressed_all_reduce(const at::Tensor& flat, const Communicator& comm);

/// A hook for Reducer: compressed_all_reduce(). The sum is there when a call returns, and so is its future.
///
/// comm    outlives the hook.
///
/// Errors  of a call: as compressed_all_reduce().
CommHook compressed_hook(const Communicator& comm);

/// compressed_hook() with error feedback: what rounding takes from this rank's contribution is kept, and
/// added to the next one of the same bucket. So a gradient that is too small to be seen beside another
/// adds up until it is, and over many passes nothing is lost of what this rank sends. What rounding takes
/// from the sum is not kept.
///
/// comm    outlives the hook. The hook, with its copies, remembers a residual for each `flat` that it was
///         called for, as long as somebody else holds that tensor: a plan that is made anew begins with
///         zeros. The residual of an element is 0 after a pass in which it was NaN or infinite.
///
/// Cost    as compressed_hook(), and once more the memory of the gradients.
/// Source  Seide et al. (2014), "1-Bit Stochastic Gradient Descent and its Application to
///         Data-Parallel Distributed Training of Speech DNNs"; Karimireddy et al. (2019), "Error
///         Feedback Fixes SignSGD and other Gradient Compression Schemes".
CommHook error_feedback_hook(const Communicator& comm);

}  // namespace dist
