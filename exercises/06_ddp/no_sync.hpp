// Exercise 06: a batch that is too large for the memory, in parts: messages travel once.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <span>

#include "course/runtime/error.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace dist {

/// A part of this rank's batch: runs forward, and returns its loss, () float32, the mean over the part's
/// examples. Whoever calls it does not change that tensor: others may hold it.
using MicroBatch = std::function<at::Tensor()>;

/// Adds the gradients of the mean loss over all micro-batches to what the parameters' gradients hold,
/// and makes each gradient, with what it held before, its mean over all ranks. Only the last backward exchanges: PyTorch's no_sync() around
/// all others.
///
/// reducer        of the model's parameters; no backward is prepared yet.
/// micro_batches  k >= 1, each called once, in this order. Parts of equal size: the mean over them is
///                the mean over their examples. Every rank has as many. The last one brings a gradient
///                for every parameter. Backward of one is through, and its graph is freed unless others
///                hold its loss, before the next is called: that is what saves the memory.
/// Returns        the mean loss over this rank's micro-batches, with no gradient recorded.
///
/// Cost           the messages of one pass, whatever k is.
/// Errors         std::invalid_argument if there is no micro-batch; what a micro-batch, backward or the
///                Reducer throws. A micro-batch that throws leaves no backward prepared.
/// Source         PyTorch, torch.nn.parallel.DistributedDataParallel.no_sync; Li et al. (2020),
///                section 3.2.4, "Gradient Accumulation".
at::Tensor accumulate_gradients(Reducer& reducer, std::span<const MicroBatch> micro_batches);

}  // namespace dist
