// Exercise 05: the older way: one process, a thread a replica.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>
#include <span>

#include "course/runtime/error.hpp"

namespace dist {

/// A model as a function: what it gives for `inputs` (B, ...) with these parameters, (B, ...).
using ModelFunction =
    std::function<at::Tensor(std::span<const at::Tensor> parameters, const at::Tensor& inputs)>;

/// Runs a batch through `replicas` copies of a model at the same time, each in a thread of its own:
/// the inputs are scattered, the parameters replicated, the outputs gathered. What comes out is what
/// model(parameters, inputs) gives, and backward() from it adds the gradients of all replicas up in
/// `parameters`, once.
///
/// model       called once for each part of the inputs, by as many threads, with a part that has one
///             row at least.
/// parameters  leaves that require gradients, or do not. Every replica gets copies with memory of
///             their own, so that what a replica writes into its own reaches no other.
/// inputs      (B, ...), B >= 1, scattered by rows as chunk_bounds does. May require a gradient, which
///             backward() then brings to it as well.
/// replicas    >= 1; with fewer rows than that, a replica for each row.
/// Returns     (B, ...), the replicas' outputs in the order of their inputs. Gradients are recorded
///             if, and only if, they are where data_parallel is called. The caller's settings,
///             GradMode and at::set_num_threads, stay as they are.
///
/// Cost        `replicas` times the memory of the parameters, copied in every call and held as long as
///             the outputs need the copies; no message.
/// Errors      std::invalid_argument, before any thread starts, if B or replicas is less than 1.
///             What a replica throws is thrown here, after all threads have ended: that of the first
///             replica that failed, in their order.
/// Source      PyTorch, torch/nn/parallel/data_parallel.py.
at::Tensor data_parallel(
    const ModelFunction& model,
    std::span<const at::Tensor> parameters,
    const at::Tensor& inputs,
    int replicas
);

}  // namespace dist
