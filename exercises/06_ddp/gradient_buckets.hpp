// Exercise 06: which gradients travel together, and where they lie so that nothing is copied.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <span>
#include <vector>

#include "course/runtime/error.hpp"

namespace dist {

/// The numbers of the parameters whose gradients travel in one message, in the order in which they come.
using Bucket = std::vector<std::size_t>;

/// Divides parameters among buckets, in the order in which their gradients come. A bucket takes one parameter
/// after the other. It is full as soon as it holds at least as many bytes as its limit.
///
/// parameters  the model's, in its order. A bucket holds one dtype only. Each dtype fills its own buckets,
///             whatever comes between.
/// order       numbers of parameters, each once: the order in which gradients come.
/// limits      bytes, each >= 1, at least one: limits[0] for the first bucket of each dtype, limits[1] for its
///             second, ...; the last limit for all further ones.
/// Returns     the full buckets, in the order in which they became full; then all others, in the order in
///             which their first parameters come.
///
/// Cost        no message.
/// Errors      std::invalid_argument if order does not name each parameter once, if there is no limit, or if
///             a limit is 0.
/// Source      torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size; Li et al.
///             (2020), "PyTorch Distributed", section 4.2.
std::vector<Bucket> gradient_buckets(
    std::span<const at::Tensor> parameters,
    std::span<const std::size_t> order,
    std::span<const std::size_t> limits
);

/// Makes one flat tensor for the gradients of a bucket, and makes each of these gradients a view into it. What
/// backward adds to a gradient is then in the flat tensor, and what a message writes into the flat tensor is in
/// the gradients.
///
/// parameters  the model's. Each parameter of the bucket gets a gradient of its shape, which is a part of the
///             flat tensor, in the bucket's order. It has the bits of the gradient that was there before, or
///             zeros where there was none.
/// bucket      numbers of parameters of one dtype, on one device.
/// Returns     the flat tensor: (n) of that dtype, on that device; n is the number of elements of all of them.
///             Only the caller and these gradients hold it.
///
/// Errors      std::invalid_argument if the bucket has no parameter, or parameters of two dtypes. All gradients
///             stay as they were then.
/// Source      torch/csrc/distributed/c10d/reducer.cpp, gradient_as_bucket_view.
at::Tensor flatten_gradients(std::span<const at::Tensor> parameters, const Bucket& bucket);

}  // namespace dist
