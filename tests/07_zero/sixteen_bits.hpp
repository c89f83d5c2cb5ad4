// Parameters in 16 bits, as mixed_precision's test makes them, and a step that one rank cannot take.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "exercises/07_zero/mixed_precision.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

using Kind = nn::OptimizerOptions::Kind;

inline const nn::OptimizerOptions kPlain{.rate = 1};
inline const std::vector<nn::OptimizerOptions> kOptions = {
    {.rate = 0.25, .momentum = 0.5}, {.kind = Kind::adamw, .rate = 0.25}};
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A parameter.
inline at::Tensor leaf(const std::vector<float>& values, at::ScalarType dtype) {
    return filled({static_cast<std::int64_t>(values.size())}, values).to(dtype).requires_grad_();
}

inline void set_gradient(const at::Tensor& parameter, const std::vector<float>& values) {
    parameter.mutable_grad() = filled(parameter.sizes(), values).to(parameter.scalar_type());
}

inline std::vector<float> values_of(const at::Tensor& tensor) {
    return elements(tensor.detach().to(at::kFloat));
}

/// Does `tensor`, of any dtype, have these values exactly?
inline Comparison holds(
    const at::Tensor& tensor,
    const std::vector<float>& expected,
    const std::vector<Suspicion>& suspicions = {}
) {
    return same(values_of(tensor), expected, 0.0, suspicions);
}

/// Parameters, and gradients that lie in memory in another way.
struct Layouts {
    std::vector<std::string> names = {
        "a transposed parameter, its gradient in rows", "a gradient that is transposed",
        "every second column; its gradient is one number for all", "a number", "no element"};
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradients;

    Layouts() {
        const auto whole = [](at::IntArrayRef shape, std::uint64_t salt, at::ScalarType dtype) {
            return filled(shape, 0, salt).to(dtype);
        };
        parameters = {
            whole({3, 2}, 1, at::kHalf).t(), whole({2, 3}, 2, at::kBFloat16),
            whole({3, 4}, 3, at::kBFloat16).slice(1, 0, 4, 2), whole({}, 4, at::kHalf),
            whole({0}, 5, at::kHalf)};
        // more than float16 can hold
        parameters[1].fill_(0x1p+20F);
        gradients = {
            whole({2, 3}, 6, at::kHalf), whole({3, 2}, 7, at::kBFloat16).t(),
            whole({1, 1}, 8, at::kBFloat16).expand({3, 2}), whole({}, 9, at::kHalf),
            whole({0}, 10, at::kHalf)};
        for (const at::Tensor& parameter : parameters) {
            parameter.requires_grad_();
        }
    }
};

/// Master weights and parameters, one after the other.
inline std::vector<float> all_values(
    const MixedPrecisionOptimizer& optimizer, const std::vector<at::Tensor>& parameters
) {
    std::vector<float> values;
    for (const std::vector<at::Tensor>& tensors : {optimizer.masters(), parameters}) {
        for (const at::Tensor& tensor : tensors) {
            const std::vector<float> more = values_of(tensor);
            values.insert(values.end(), more.begin(), more.end());
        }
    }
    return values;
}

/// Where 100 steps towards a goal end.
struct Approach {
    std::vector<float> master;  // the master weights
    std::vector<float> alone;   // bfloat16 that has none
};

inline Approach approach(
    const std::vector<float>& start, const std::vector<float>& goals, const Communicator& comm
) {
    const at::Tensor goal = leaf(goals, at::kBFloat16).detach();
    const at::Tensor x = leaf(start, at::kBFloat16);
    const at::Tensor alone = x.detach().clone();
    const nn::OptimizerOptions options{.rate = 1.0 / 16};
    MixedPrecisionOptimizer optimizer({x}, options);
    nn::Optimizer without(options, {alone});
    for (int step = 0; step < 100; ++step) {
        optimizer.zero_grad();
        x.sub(goal).square().sum().backward();
        alone.mutable_grad() = alone.sub(goal).mul(2);
        CHECK(optimizer.step(1, comm));
        without.step();
    }
    return {values_of(optimizer.masters()[0]), values_of(alone)};
}

/// A step with `bad` in one gradient of rank `where`, between two good ones: no rank takes it, and the next is
/// as if it had never been.
inline void skips(
    const nn::OptimizerOptions& options, float bad, int where, const Communicator& comm
) {
    const auto make = [] {
        return std::vector{leaf({1, 2}, at::kHalf), leaf({3, 4, 5}, at::kHalf)};
    };
    const std::vector<at::Tensor> parameters = make();
    const std::vector<at::Tensor> others = make();
    MixedPrecisionOptimizer optimizer(parameters, options);
    MixedPrecisionOptimizer undisturbed(others, options);
    const auto step = [&](MixedPrecisionOptimizer& of, const std::vector<at::Tensor>& its,
                          float last) {
        set_gradient(its[0], {-8, 4});
        set_gradient(its[1], {2, -1, last});
        return of.step(2, comm);
    };
    INFO(bad << " in a gradient of rank " << where << " alone");
    CHECK(step(optimizer, parameters, 4));
    CHECK(step(undisturbed, others, 4));
    const std::vector<float> before = all_values(optimizer, parameters);
    const bool taken = step(optimizer, parameters, comm.rank() == where ? bad : 4.0F);
    {
        INFO("every rank skips the step, and says so");
        CHECK_FALSE(taken);
    }
    CHECK(same(all_values(optimizer, parameters), before));
    CHECK(step(optimizer, parameters, 6));
    CHECK(step(undisturbed, others, 6));
    INFO("the next step is as if the skipped one had never been");
    CHECK(same(all_values(optimizer, parameters), all_values(undisturbed, others)));
}

}  // namespace dist::harness
