// Tensors in tests: what ranks put into them, and what is in them afterwards. For exercises that need LibTorch.
#pragma once

#include "tests/harness/catch2.hpp"

// LibTorch has a CHECK of its own, here. Catch2's is back, and what includes this file again leaves it alone.
#include <c10/util/Logging.h>
#pragma pop_macro("CHECK")

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "tests/harness/words/inputs.hpp"

namespace dist::harness {

/// Shapes of a model's parameters: a matrix, a vector, a number, more dimensions, no element at all.
inline const std::vector<std::vector<std::int64_t>> kShapes = {{4, 3}, {7}, {}, {2, 3, 5}, {0}};

/// The elements of `tensor` in logical order, wherever they lie in memory.
inline std::vector<float> elements(const at::Tensor& tensor) {
    const at::Tensor flat = tensor.detach().contiguous();
    return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

inline std::size_t count(const at::Tensor& tensor) {
    return static_cast<std::size_t>(tensor.numel());
}

/// Elements of all of them.
inline std::size_t count(std::span<const at::Tensor> tensors) {
    const auto add = [](std::size_t n, const at::Tensor& tensor) { return n + count(tensor); };
    return std::accumulate(tensors.begin(), tensors.end(), std::size_t{0}, add);
}

/// A tensor of this shape with these elements.
inline at::Tensor filled(at::IntArrayRef shape, const std::vector<float>& values) {
    at::Tensor tensor = at::empty(shape, at::kFloat);
    std::ranges::copy(values, tensor.data_ptr<float>());
    return tensor;
}

/// A tensor of this shape with input(n, rank, salt) in it.
inline at::Tensor filled(at::IntArrayRef shape, int rank, std::uint64_t salt) {
    at::Tensor tensor = at::empty(shape, at::kFloat);
    std::ranges::copy(input(count(tensor), rank, salt), tensor.data_ptr<float>());
    return tensor;
}

}  // namespace dist::harness
