// Exercise 06: a batch that is too large for the memory, in parts: messages travel once.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <span>

#include "course/runtime/error.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace dist {

/// A part of this rank's batch: runs forward, and returns its loss, () float32, the mean over the part's examples.
/// Others may hold that tensor: it is not to be changed.
using MicroBatch = std::function<at::Tensor()>;

/// Adds the gradients of the mean loss over all micro-batches to what the parameters' gradients hold. Then makes
/// each gradient, with what it held before, its mean over all ranks. Only the last backward exchanges: PyTorch has
/// no_sync() around all others.
///
/// reducer        of the model's parameters; no backward is prepared yet.
/// micro_batches  k >= 1, as many on every rank, of equal size. Each is called once, in this order. The last one
///                brings a gradient for every parameter. Before the next micro-batch is called, backward of the
///                one before has ended, and its graph is freed unless others hold its loss: that saves the
///                memory. The last graph is freed when the call returns.
/// Returns        the mean loss over this rank's micro-batches, with no gradient recorded. It is the caller's.
///
/// Cost           the messages of one pass, whatever k is.
/// Errors         std::invalid_argument if there is no micro-batch; what a micro-batch, backward or the Reducer
///                throws, whatever its type. No backward is prepared afterwards: the pass that failed is
///                forgotten.
/// Source         PyTorch, torch.nn.parallel.DistributedDataParallel.no_sync; Li et al. (2020),
///                section 3.2.4, "Gradient Accumulation".
at::Tensor accumulate_gradients(Reducer& reducer, std::span<const MicroBatch> micro_batches);

}  // namespace dist
