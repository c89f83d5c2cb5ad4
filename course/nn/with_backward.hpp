// An operation of one's own, for autograd: any number of inputs, and a backward.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <vector>

namespace dist::nn {

/// The gradient of each input, undefined where there is none, by the gradient of the result.
using Backward = std::function<
    std::vector<at::Tensor>(const at::Tensor& gradient, const std::vector<at::Tensor>& inputs)>;

/// A tensor with the memory of `result`, of which autograd knows that it was made from `inputs`: backward() calls
/// `backward`, and passes what it returns on to the inputs. The inputs and the function are kept until a backward
/// without retain_graph has passed, or the last tensor that leads here is gone.
///
/// Errors  out of backward(): c10::Error if an input was changed in place since, or if backward() passes for a second
///         time and the first one did not retain the graph.
at::Tensor with_backward(
    const at::Tensor& result, const std::vector<at::Tensor>& inputs, Backward backward
);

}  // namespace dist::nn
