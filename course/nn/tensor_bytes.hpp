// Tensors as bytes, for messages.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dist::nn {

/// Tensors in one row of bytes: dtype, shape and elements of each. What autograd knows of them
/// stays behind.
///
/// tensors  of any integral, floating-point or complex dtype, with any strides, on any device; or
///          undefined.
///
/// Cost     one copy of the elements.
/// Errors   std::invalid_argument for another kind of tensor: a sparse or quantised one.
std::vector<std::byte> bytes_of(std::span<const at::Tensor> tensors);

/// The tensors that bytes_of() was given: contiguous, on the host, without gradient.
///
/// Cost     one copy of the elements.
/// Errors   dist::Error if these bytes are cut off or too long, or say what cannot be. An element
///          that was changed on the way goes unnoticed.
std::vector<at::Tensor> tensors_of(std::span<const std::byte> bytes);

/// What a message says of its tensors, and these.
struct NumbersAndTensors {
    std::vector<std::int64_t> numbers = {};
    std::vector<at::Tensor> tensors = {};
};

/// The same for both: Cost and Errors as above.
std::vector<std::byte> bytes_of(const NumbersAndTensors& message);
NumbersAndTensors numbers_and_tensors_of(std::span<const std::byte> bytes);

}  // namespace dist::nn
