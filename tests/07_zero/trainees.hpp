// Training that stops, and goes on in another way and on another number of ranks.
#pragma once

#include <ATen/ops/zeros_like.h>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exercises/07_zero/zero1.hpp"
#include "exercises/07_zero/zero2.hpp"
#include "exercises/07_zero/zero3.hpp"
#include "tests/07_zero/checkpoints.hpp"
#include "tests/07_zero/held_parts.hpp"
#include "tests/07_zero/units.hpp"

namespace dist::harness {

enum class Way { data_parallel, zero1, zero2, zero3 };

inline const char* name_of(Way way) {
    return way == Way::zero1   ? "zero1"
           : way == Way::zero2 ? "zero2"
           : way == Way::zero3 ? "zero3"
                               : "data parallel";
}

/// Which parameters lie in a row together, by their numbers: one row for each parameter of the optimizer.
using Rows = std::vector<std::vector<std::size_t>>;

/// A model, what trains it on all ranks, and what this rank holds of it.
struct Trainee {
    Tensors parameters;
    std::function<void(const Tensors& gradients)> step;
    nn::Optimizer* optimizer;
    Rows rows;
    const Communicator& shards;  // each rank has one of each row
    std::function<std::vector<float>()> weights;
    bool has_whole = true;  // parameters, besides the shards
};

inline Trainee trainee(
    Way way, const nn::OptimizerOptions& options, const Communicator& comm, const Communicator& self
) {
    const Tensors parameters = model(kShapes);
    const auto weights = [=] { return all_elements(parameters); };
    const auto with = [&](const auto& zero, const Rows& rows) -> Trainee {
        const auto step = [=](const Tensors& gradients) {
            zero->zero_grad();
            backward(parameters, gradients);
            zero->step();
        };
        return {parameters, step, &zero->optimizer(), rows, comm, weights};
    };
    Rows all(1);
    Rows each;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        all[0].push_back(i);
        each.push_back({i});
    }
    if (way == Way::zero1) {
        return with(std::make_shared<Zero1>(parameters, options, comm), all);
    }
    if (way == Way::zero2) {
        const std::vector<std::size_t> limits = {40};
        const auto zero = std::make_shared<Zero2>(parameters, limits, options, comm);
        return with(zero, zero->buckets());
    }
    if (way == Way::zero3) {
        std::shared_ptr<Zero3> zero;
        const MakeUnits make = [&zero](const auto& units, const auto& how, const auto& on) {
            std::vector<FsdpUnit> all_units;
            for (const Tensors& unit : units) {
                all_units.push_back({unit});
            }
            zero = std::make_shared<Zero3>(all_units, how, on);
            return as_units(zero, units, {}, on.size());
        };
        const std::vector<std::size_t> ones(parameters.size(), 1);
        const Training training = stage_of(make, ones)(parameters, options, comm);
        return {parameters, training.step, &zero->optimizer(), each, comm, training.weights, false};
    }
    const auto optimizer = std::make_shared<nn::Optimizer>(options, parameters);
    const auto step = [=](const Tensors& gradients) {  // the same on all ranks, and so their mean
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            parameters[i].mutable_grad() = gradients[i];
        }
        optimizer->step();
    };
    return {parameters, step, optimizer.get(), each, self, weights};
}

/// Parts of what the optimizer steps, and of what it keeps.
inline Parts parts_of(const Trainee& trainee, const std::vector<nn::OptimizerState>& states) {
    Parts parts;
    for (std::size_t row = 0; row < trainee.rows.size(); ++row) {
        Tensors tensors;
        Names names;
        for (const std::size_t i : trainee.rows[row]) {
            tensors.push_back(trainee.parameters[i]);
            names.push_back("layer" + std::to_string(i));
        }
        const auto add = [&](const std::string& prefix, const at::Tensor& shard) {
            Names prefixed;
            for (const std::string& name : names) {
                prefixed.push_back(prefix + name);
            }
            for (const auto& part :
                 parts_of_shard(prefixed, tensors, shard.detach().view(-1), trainee.shards)) {
                parts.push_back(part);
            }
        };
        add("", trainee.optimizer->parameters()[row]);
        for (const auto& [name, tensor] : states[row]) {
            if (name == "step") {
                parts.push_back({"optimizer.step", 1, 0, tensor.view(-1)});
            } else {
                add("optimizer." + name + ".", tensor);
            }
        }
    }
    return parts;
}

inline void save(
    const Trainee& trainee, const std::filesystem::path& folder, int step, const Communicator& comm
) {
    std::vector<nn::OptimizerState> states;
    for (std::size_t row = 0; row < trainee.rows.size(); ++row) {
        states.push_back(trainee.optimizer->state(row));
    }
    save_sharded(folder, step, parts_of(trainee, states), comm);
}

/// What an optimizer keeps, to be loaded.
inline nn::OptimizerState empty_state(Kind kind, const at::Tensor& parameter) {
    const auto row = [&] { return at::zeros_like(parameter.detach()); };
    if (kind == Kind::adamw) {
        return {{"exp_avg", row()}, {"exp_avg_sq", row()}, {"step", at::zeros({1}, at::kLong)}};
    }
    return {{"momentum_buffer", row()}};
}

/// Each rank loads what it holds: all parameters, and the optimizer's state of its shards. Returns the step.
inline std::int64_t load(
    const Trainee& trainee, Kind kind, const std::filesystem::path& folder, const Communicator& comm
) {
    std::vector<nn::OptimizerState> states;
    for (const at::Tensor& shard : trainee.optimizer->parameters()) {
        states.push_back(empty_state(kind, shard));
    }
    Parts parts = parts_of(trainee, states);
    for (std::size_t i = 0; trainee.has_whole && i < trainee.parameters.size(); ++i) {
        const at::Tensor& whole = trainee.parameters[i];
        parts.push_back({"layer" + std::to_string(i), whole.numel(), 0, whole.detach().view(-1)});
    }
    const std::int64_t step = load_sharded(folder, parts, comm);
    for (std::size_t row = 0; row < states.size(); ++row) {
        trainee.optimizer->load_state(row, states[row]);
    }
    return step;
}

/// All ranks have the same gradients, whole numbers that 3 divides: a p-th of each, added up on p = 1, 2, 3 or
/// 4 ranks, is the gradient, to the bit.
inline Tensors thrice(int step) {
    Tensors all = gradients(model(kShapes), 0, step);
    for (at::Tensor& gradient : all) {
        gradient = gradient.mul(3);
    }
    return all;
}

/// One process that has never stopped, after so many steps.
inline std::vector<float> never_stopped(const nn::OptimizerOptions& options, int steps) {
    const Tensors parameters = model(kShapes);
    nn::Optimizer optimizer(options, parameters);
    for (int step = 1; step <= steps; ++step) {
        const Tensors all = thrice(step);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            parameters[i].mutable_grad() = all[i];
        }
        optimizer.step();
    }
    return all_elements(parameters);
}

struct Session {
    Way way;
    int p;
};

/// Two steps in each session, a checkpoint in between: after each, the weights are as if it had never stopped.
inline void goes_on(
    const std::vector<Session>& sessions,
    const nn::OptimizerOptions& options,
    const std::filesystem::path& folder,
    const Communicator& comm
) {
    const Communicator self = comm.split(comm.rank());
    std::string text = name_of(options);
    int step = 0;
    for (const Session& session : sessions) {
        text += std::string(step > 0 ? ", then " : ": ") + name_of(session.way) + " on " +
                std::to_string(session.p);
        on_first(session.p, comm, [&](const Communicator& some) {
            const Trainee running = trainee(session.way, options, some, self);
            if (step > 0) {
                const std::int64_t loaded = load(running, options.kind, folder, some);
                CHECK(loaded == step);
            }
            running.step(thrice(step + 1));
            running.step(thrice(step + 2));
            save(running, folder, step + 2, some);
            INFO(text << "; after step " << step + 2);
            CHECK(same(running.weights(), never_stopped(options, step + 2)));
        });
        step += 2;
    }
}

}  // namespace dist::harness
