// A small network as a function, and the gradients that it is to have.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <span>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/05_data_parallel/data_parallel.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

using Parameters = std::span<const at::Tensor>;

/// (B, 3) to (B, 2), by a weight (3, 2) and a bias (2).
inline at::Tensor layer(Parameters parameters, const at::Tensor& inputs) {
    return inputs.matmul(parameters[0]).add(parameters[1]).square();
}

/// w times each row: one parameter.
inline at::Tensor scaled(Parameters parameters, const at::Tensor& rows) {
    return rows.mul(parameters[0]);
}

inline at::Tensor leaf(std::vector<std::int64_t> shape, std::uint64_t salt) {
    return filled(shape, 0, salt).requires_grad_();
}

/// Weight, bias and inputs of layer(), which require gradients.
inline std::vector<at::Tensor> leaves(int rows) {
    return {leaf({3, 2}, 1), leaf({2}, 2), leaf({rows, 3}, 3)};
}

/// What is to come back for each row that layer() makes.
inline at::Tensor upstream(int rows) {
    return filled({rows, 2}, 0, 4);
}

/// The gradients of leaves() that the rows of `part` give, without data_parallel.
inline std::vector<std::vector<float>> gradients(int rows, const Chunk& part) {
    const auto begin = static_cast<std::int64_t>(part.begin);
    const auto size = static_cast<std::int64_t>(part.size());
    const auto all = leaves(rows);
    layer(all, all[2].narrow(0, begin, size)).backward(upstream(rows).narrow(0, begin, size));
    return {elements(all[0].grad()), elements(all[1].grad()), elements(all[2].grad())};
}

/// Calls backward if there is a way back.
inline Comparison goes_back(const at::Tensor& outputs, const at::Tensor& gradient) {
    if (outputs.requires_grad()) {
        outputs.backward(gradient);
    }
    return {
        outputs.requires_grad(),
        "the outputs require no gradient: autograd follows clone() back to the parameters, and "
        "ends at detach()"};
}

/// Whether backward has brought `tensor` this gradient.
inline Comparison gradient_is(
    const at::Tensor& tensor,
    const std::vector<float>& expected,
    const std::vector<Suspicion>& known = {}
) {
    if (!tensor.grad().defined()) {
        return {false, "no gradient came: is there a detach() on the way to it?"};
    }
    return same(elements(tensor.grad()), expected, 0.0, known);
}

/// Whether data_parallel gives what the model gives, in shape, type and value.
inline Comparison gives_the_models(
    const ModelFunction& model, Parameters parameters, const at::Tensor& inputs, int replicas
) {
    const at::Tensor expected = model(parameters, inputs);
    const at::Tensor got = data_parallel(model, parameters, inputs, replicas);
    if (got.sizes() != expected.sizes() || got.scalar_type() != expected.scalar_type()) {
        return {false, "the outputs have another shape or type than the model's"};
    }
    return same(elements(got.to(at::kFloat)), elements(expected.to(at::kFloat)));
}

}  // namespace dist::harness
