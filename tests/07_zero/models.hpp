// Models whose training every stage of ZeRO must not change: gradients that each rank makes, and where they lead.
#pragma once

#include <ATen/ops/zeros.h>
#include <cmath>
#include <cstdint>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

using Kind = nn::OptimizerOptions::Kind;
using Tensors = std::vector<at::Tensor>;
using Shapes = std::vector<std::vector<std::int64_t>>;

inline const std::vector<nn::OptimizerOptions> kOptions = {
    {.rate = 0.125, .weight_decay = 0.25, .momentum = 0.5},
    {.kind = Kind::adamw, .rate = 0.125, .weight_decay = 0.25}};

/// Models: of all shapes, of fewer elements than there are ranks, of none.
inline const std::vector<Shapes> kModels = {kShapes, {{1}, {0}, {1}}, {{0}}, {}, {{2, 6}}};

inline const char* name_of(const nn::OptimizerOptions& options) {
    return options.kind == Kind::adamw ? "adamw" : "momentum";
}

/// Parameters, the same on every rank.
inline Tensors model(const Shapes& shapes) {
    Tensors parameters;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        parameters.push_back(filled(shapes[i], 0, i).requires_grad_());
    }
    return parameters;
}

/// A rank's gradient of parameter i in a step. An element has one sign on all ranks: of means near 0 Adam
/// would take the sign, and rounding might turn it.
inline at::Tensor gradient(const at::Tensor& parameter, std::size_t i, int rank, int step) {
    std::vector<float> values =
        input(count(parameter), rank, 100 * static_cast<std::uint64_t>(step) + i);
    for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = (k % 2 == 0 ? 1.0F : -1.0F) * (std::abs(values[k]) + 1);
    }
    return filled(parameter.sizes(), values);
}

/// A rank's gradients in a step; those of a divisor that is not round have many bits.
inline Tensors gradients(const Tensors& parameters, int rank, int step, double divisor = 1) {
    Tensors all;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        all.push_back(gradient(parameters[i], i, rank, step).div(divisor));
    }
    return all;
}

/// A loss whose backward brings these gradients, the last parameter's first. One that is undefined does not come.
inline at::Tensor loss_of(const Tensors& parameters, const Tensors& gradients) {
    at::Tensor loss = at::zeros({}, at::kFloat);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (gradients[i].defined()) {
            loss = loss.add(parameters[i].mul(gradients[i]).sum());
        }
    }
    return loss;
}

inline void backward(const at::Tensor& loss) {
    if (loss.requires_grad()) {  // of no parameter it does not
        loss.backward();
    }
}

/// Parameters of zeros: a step of rate -1 adds the gradients to them.
inline Tensors zeros(const Shapes& shapes) {
    Tensors parameters;
    for (const auto& shape : shapes) {
        parameters.push_back(at::zeros(shape, at::kFloat).requires_grad_());
    }
    return parameters;
}

/// A loss whose backward brings gradients of `values[i]` for parameters[i], in the order of `order`.
inline at::Tensor loss_in_order(
    const Tensors& parameters,
    const std::vector<std::size_t>& order,
    const std::vector<float>& values
) {
    at::Tensor loss = at::zeros({}, at::kFloat);
    // backward begins with the operation that was recorded last
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
        loss = loss.add(parameters[*i].mul(values[*i]).sum());
    }
    return loss;
}

inline std::vector<float> all_elements(const Tensors& tensors) {
    std::vector<float> all;
    for (const at::Tensor& tensor : tensors) {
        const std::vector<float> more = elements(tensor);
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

/// The model after so many steps of one process that has everybody's gradients: times `scale`, of ranks
/// [first, last); those of steps before are still there with `add_up`.
inline std::vector<float> trained(
    const Shapes& shapes,
    const nn::OptimizerOptions& options,
    int steps,
    double scale,
    int first,
    int last,
    bool add_up = false
) {
    const Tensors parameters = model(shapes);
    nn::Optimizer optimizer(options, parameters);
    for (int step = 1; step <= steps; ++step) {
        if (!add_up) {
            optimizer.zero_grad();
        }
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            at::Tensor& sum = parameters[i].mutable_grad();
            for (int rank = first; rank < last; ++rank) {
                const at::Tensor more = gradient(parameters[i], i, rank, step).mul(scale);
                sum = sum.defined() ? sum.add(more) : more;
            }
        }
        optimizer.step();
    }
    return all_elements(parameters);
}

/// Is the model where training with everybody's mean gradient takes it?
inline Comparison as_trained(
    const std::vector<float>& weights,
    const Shapes& shapes,
    const nn::OptimizerOptions& options,
    int steps,
    const Communicator& comm
) {
    const int p = comm.size();
    const int r = comm.rank();
    return same(
        weights, trained(shapes, options, steps, 1.0 / p, 0, p), 1e-5,
        {{trained(shapes, options, steps - 1, 1.0 / p, 0, p),
          "that is as it was before this step: is the row collected when all have stepped?"},
         {trained(shapes, options, steps, 1.0 / p, r, r + 1),
          "that is a p-th of this rank's own gradient: it met no other"},
         {trained(shapes, options, steps, 1.0, r, r + 1),
          "stepped by this rank's own gradient: each rank has a model of its own now"},
         {trained(shapes, options, steps, 1.0, 0, p),
          "stepped by the sum of the gradients, not by their mean"},
         {trained(shapes, options, steps, 1.0 / p / p, 0, p),
          "stepped by the mean of the gradients, divided by p once more"},
         {trained(shapes, options, steps, 1.0 / p, 0, p, true),
          "the gradients of the steps before are still in it"}}
    );
}

}  // namespace dist::harness
