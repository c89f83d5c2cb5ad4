// Exercise 06: which gradients travel together, and where they lie so that nothing is copied.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <span>
#include <vector>

#include "course/runtime/error.hpp"

namespace dist {

/// Numbers of parameters whose gradients travel in one message, in the order in which they come.
using Bucket = std::vector<std::size_t>;

/// Shares parameters out among buckets, in the order in which their gradients come: a bucket takes one
/// after the other, and is full as soon as it holds as many bytes as its limit, or more.
///
/// parameters  the model's, in its order. A bucket holds one dtype only; those of one dtype fill theirs
///             independently of others between them.
/// order       numbers of parameters, each once: the order in which gradients come. Before the first
///             backward nobody knows; the model's order backwards is a good guess.
/// limits      bytes, each >= 1, at least one: the first bucket of a dtype is full at limits[0], its
///             second at limits[1], ..., and all behind the last limit at the last.
/// Returns     the buckets in the order in which they were full; then those that are not full, in the
///             order in which their first parameters come.
///
/// Cost        O(parameters) operations, no message.
/// Errors      std::invalid_argument if order does not name each parameter once, if there is no limit,
///             or one is 0.
/// Source      torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size; Li et al.
///             (2020), "PyTorch Distributed", section 4.2.
std::vector<Bucket> gradient_buckets(
    std::span<const at::Tensor> parameters,
    std::span<const std::size_t> order,
    std::span<const std::size_t> limits
);

/// Makes one flat tensor for the gradients of a bucket, and makes them views into it: what backward adds
/// to a gradient is then in the flat tensor, and what a message brings into that is in the gradients.
///
/// parameters  the model's. Those of the bucket get a gradient of their shape, which is a part of the
///             flat tensor, in the bucket's order; it has the values that the gradient had before, zeros
///             where there was none.
/// bucket      numbers of parameters of one dtype, on one device.
/// Returns     (n) of that dtype, on that device, n the elements of all of them.
///
/// Cost        the memory of the bucket's gradients, once more as long as somebody holds the old ones.
/// Errors      std::invalid_argument if the bucket has no parameter, or parameters of two dtypes.
/// Source      torch/csrc/distributed/c10d/reducer.cpp, gradient_as_bucket_view.
at::Tensor flatten_gradients(std::span<const at::Tensor> parameters, const Bucket& bucket);

}  // namespace dist
