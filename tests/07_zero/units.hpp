// Models cut into units, in the hands of what gathers their weights and frees them.
#pragma once

#include <ATen/ops/ones.h>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/07_zero/memory.hpp"
#include "tests/07_zero/stages.hpp"

namespace dist::harness {

/// Calls a module with its unit's weights, or just calls it.
using CallUnit =
    std::function<at::Tensor(std::size_t unit, const std::function<at::Tensor()>& module)>;

/// What trains a model by units, whoever it is.
struct Units {
    CallUnit forward;  // says which unit computes without its weights, where LibTorch would crash
    CallUnit bare_forward;  // for modules that return a tensor that is not their own
    std::function<void()> zero_grad;
    std::function<void()> step;
    std::function<nn::Optimizer&()> optimizer;
    std::vector<Tensors> parameters;  // of each unit
    ModelStates states;               // that this rank should hold, after backward
    int padded_to = 1;                // what divides the length of each row
};

/// Takes the parameters of each unit over.
using MakeUnits = std::function<Units(
    const std::vector<Tensors>& units, const nn::OptimizerOptions& options, const Communicator& comm
)>;

struct UnitsToTry {
    std::string name;  // as a failure tells it: "resharded after forward"
    MakeUnits make;
    bool reshard = true;  // after forward
    bool prefetch = false;
};

/// What unit_promises.hpp is tried on: the test that includes this says what that is.
const std::vector<UnitsToTry>& units_to_try();

/// A call that looks whether the unit's weights are there, in forward and when its backward begins.
inline CallUnit watched(const CallUnit& call, const std::vector<Tensors>& parameters) {
    const auto means = std::make_shared<std::optional<CrashMeans>>();
    const auto expect_weights = [=](std::size_t unit, const std::string& when) {
        const std::string text = when + " unit " + std::to_string(unit);
        means->emplace("crashes after this: " + text + ". Does it read weights that were freed?");
        for (const at::Tensor& parameter : parameters.at(unit)) {
            if (parameter.storage().nbytes() < parameter.nbytes()) {
                throw std::runtime_error(
                    text + ", whose weights are not there: freed too early, or not gathered"
                );
            }
        }
    };
    return [=](std::size_t unit, const std::function<at::Tensor()>& module) {
        means->emplace(
            "forward(" + std::to_string(unit) +
            ", ...) crashes outside of module. Does it read a row that has no memory?"
        );
        const at::Tensor result = call(unit, [&] {
            expect_weights(unit, "forward computes");
            const at::Tensor output = module();
            if (output.is_leaf()) {
                return output;
            }
            output.register_hook([=](const at::Tensor& /*gradient*/) {
                expect_weights(unit, "backward computes");
            });
            return output.view_as(output);  // its hook comes before that of `output`
        });
        means->reset();
        return result;
    };
}

/// The Units that a Zero3, or what has its shape, makes of these parameters.
template <class Z>
Units as_units(
    const std::shared_ptr<Z>& z,
    const std::vector<Tensors>& parameters,
    const ModelStates& states,
    int padded_to
) {
    const CallUnit forward = [z](std::size_t unit, const auto& module) {
        return z->forward(unit, module);
    };
    return {
        .forward = watched(forward, parameters),
        .bare_forward = forward,
        .zero_grad = [z] { z->zero_grad(); },
        .step = [z] { z->step(); },
        .optimizer = [z]() -> nn::Optimizer& { return z->optimizer(); },
        .parameters = parameters,
        .states = states,
        .padded_to = padded_to};
}

/// Elements of each unit.
inline std::vector<std::size_t> lengths_of(const std::vector<Tensors>& units) {
    std::vector<std::size_t> lengths;
    for (const Tensors& unit : units) {
        lengths.push_back(count(unit));
    }
    return lengths;
}

/// Units of so many parameters each; the last has what is left.
inline std::vector<Tensors> in_units(
    const Tensors& parameters, const std::vector<std::size_t>& lengths
) {
    std::vector<Tensors> units;
    std::size_t begin = 0;
    for (std::size_t u = 0; begin < parameters.size(); ++u) {
        const std::size_t left = parameters.size() - begin;
        const std::size_t n = u < lengths.size() ? std::min(lengths[u], left) : left;
        const auto first = parameters.begin() + static_cast<std::ptrdiff_t>(begin);
        units.emplace_back(first, first + static_cast<std::ptrdiff_t>(n));
        begin += n;
    }
    return units;
}

/// A unit for each.
inline std::vector<Tensors> each(const Tensors& parameters) {
    return in_units(parameters, std::vector<std::size_t>(parameters.size(), 1));
}

/// All elements, which a unit has while it computes.
inline std::vector<float> weights_of(const Units& units) {
    const at::NoGradGuard no_grad;
    std::vector<float> all;
    for (std::size_t u = 0; u < units.parameters.size(); ++u) {
        units.forward(u, [&] {
            const std::vector<float> more = all_elements(units.parameters[u]);
            all.insert(all.end(), more.begin(), more.end());
            return at::zeros({});
        });
    }
    return all;
}

/// Units of these lengths as a stage.
inline Stage stage_of(const MakeUnits& make, const std::vector<std::size_t>& lengths) {
    return [=](const Tensors& parameters, const nn::OptimizerOptions& options,
               const Communicator& comm) -> Training {
        const Units units = make(in_units(parameters, lengths), options, comm);
        const auto loss_of_units = [=](const Tensors& gradients) {
            at::Tensor loss = at::zeros({}, at::kFloat);
            std::size_t i = 0;
            for (std::size_t u = 0; u < units.parameters.size(); ++u) {
                const Tensors& mine = units.parameters[u];
                const auto begin = gradients.begin() + static_cast<std::ptrdiff_t>(i);
                loss = units.forward(u, [&] {
                    return loss.add(loss_of(mine, {begin, begin + std::ssize(mine)}));
                });
                i += mine.size();
            }
            return loss;
        };
        return {
            .zero_grad = units.zero_grad,
            .loss = loss_of_units,
            .step = units.step,
            .weights = [=] { return weights_of(units); }};
    };
}

/// Held bytes of units of one parameter each, of ones.
struct Watched {
    Watched(
        const std::vector<std::size_t>& lengths,
        const MakeUnits& make,
        const nn::OptimizerOptions& options,
        const Communicator& comm
    )
        : lengths_(lengths) {
        for (const std::size_t n : lengths) {
            parameters.push_back(at::ones({static_cast<std::int64_t>(n)}).requires_grad_());
        }
        units = make(each(parameters), options, comm);
    }

    /// Bytes of a unit's whole row; 0 where there is no such unit.
    [[nodiscard]] std::size_t row(std::size_t unit) const {
        return unit < lengths_.size()
                   ? memory_model(lengths_[unit], units.padded_to, ZeroStage::optimizer, {}, {})
                         .parameters
                   : 0;
    }

    /// What is there now.
    [[nodiscard]] Held held() const {
        return held_now(parameters, units.optimizer(), before_, sizeof(float) * outputs);
    }

    /// Checks that rows of so many bytes are there, besides what always is.
    void holds(
        const std::string& moment, std::size_t rows, std::size_t gradients, std::size_t kept
    ) {
        std::size_t all = 0;
        for (std::size_t u = 0; u < lengths_.size(); ++u) {
            all += row(u);
        }
        check_memory(
            moment, held(),
            {.parameters = units.states.parameters + rows,
             .gradients = gradients,
             .optimizer = kept},
            {.parameters =
                 {{all, "the weights of all units"},
                  {row(0), "the weights of unit 0"},
                  {row(1), "the weights of unit 1"},
                  {row(2), "the weights of unit 2"}},
             .gradients = {{all - gradients, "whole rows of gradients, and not shards alone"}},
             .rest = {{all, "all rows of gradients, or of weights"}}}
        );
    }

    /// Most that was held since forget_peak(), a collective's scratch aside: at most a row.
    [[nodiscard]] std::size_t peak() const {
        const std::size_t longest = *std::max_element(lengths_.begin(), lengths_.end());
        return before_.peak_since(longest * sizeof(float));
    }

  private:
    MemoryBefore before_;
    std::vector<std::size_t> lengths_;

  public:
    Tensors parameters;
    Units units;
    std::size_t outputs = 0;  // numbers that units have returned, and that are still there
};

}  // namespace dist::harness
