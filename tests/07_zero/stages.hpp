// Stages of ZeRO in tests: a model in the hands of one, beside one process that has everybody's gradients.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "course/nn/gradient_hook.hpp"
#include "course/protocol/counted.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"
#include "tests/07_zero/models.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"

namespace dist::harness {

/// A model in the hands of a stage.
struct Training {
    std::function<void()> zero_grad;
    std::function<at::Tensor(const Tensors& gradients)> loss;  // as loss_of()
    std::function<void()> step;
    std::function<std::vector<float>()> weights;  // all elements, in the model's order
    bool steps_at_any_time = true;  // else once after a backward that follows zero_grad()

    void steps_by(const Tensors& gradients) const {
        zero_grad();
        backward(loss(gradients));
        step();
    }
};

/// Takes parameters over.
using Stage = std::function<Training(
    const Tensors& parameters, const nn::OptimizerOptions& options, const Communicator& comm
)>;

/// What stage_promises.hpp is tried on: the test that includes it says what that is.
Stage stage_to_try();

/// The Training of a Zero1 or a Zero2.
template <class Z>
Training training_of(const Tensors& parameters, const std::shared_ptr<Z>& optimizer) {
    return {
        .zero_grad = [=] { optimizer->zero_grad(); },
        .loss = [=](const Tensors& gradients) { return loss_of(parameters, gradients); },
        .step = [=] { optimizer->step(); },
        .weights = [=] { return all_elements(parameters); }};
}

/// Three steps with mean gradients end where those of one process do.
inline void trains(
    const Stage& stage,
    const Shapes& shapes,
    const nn::OptimizerOptions& options,
    const Communicator& comm
) {
    const Tensors parameters = model(shapes);
    const std::size_t n = count(parameters);
    const Training training = stage(parameters, options, comm);
    for (int step = 1; step <= 3; ++step) {
        INFO(name_of(options) << ", " << counted(n, "element") << ", step " << step);
        training.steps_by(gradients(model(shapes), comm.rank(), step));
        const std::vector<float> weights = training.weights();
        REQUIRE(as_trained(weights, shapes, options, step, comm));
        CHECK(same_on_all_ranks(weights, comm));
    }
}

/// With all models, and both optimizers.
inline void trains_as_one_process(const Stage& stage) {
    on_ranks({3, 1, 2, 4, 5}, [&](const Communicator& comm) {
        for (const Shapes& shapes : kModels) {
            for (const nn::OptimizerOptions& options : kOptions) {
                trains(stage, shapes, options, comm);
            }
        }
    });
}

/// Numbers of parameters that lie in a row together.
using Groups = std::vector<std::vector<std::size_t>>;

/// How a gradient becomes a p-th of itself: times 1 / p, or divided by p. The last bits differ, and a stage may take
/// either.
enum class Divided { times_reciprocal, by_p };

/// As DDP, whose buckets are these groups, filled up as rows are: a p-th of each gradient, added up around
/// the ring.
inline void set_to_ddps_mean(
    const Tensors& parameters,
    const Tensors& own,
    const Groups& groups,
    Divided divided,
    const Communicator& comm
) {
    for (const std::vector<std::size_t>& group : groups) {
        std::int64_t n = 0;
        for (const std::size_t i : group) {
            n += own[i].numel();
        }
        const int p = comm.size();
        const at::Tensor row = at::zeros({(n + p - 1) / p * p}, at::kFloat);  // chunks are shards
        std::int64_t begin = 0;
        for (const std::size_t i : group) {
            const at::Tensor part = row.narrow(0, begin, own[i].numel()).view(own[i].sizes());
            part.copy_(divided == Divided::by_p ? own[i].div(p) : own[i].mul(1.0 / p));
            parameters[i].mutable_grad() = part;
            begin += own[i].numel();
        }
        all_reduce_hook(comm)(row).wait();
    }
}

/// 20 steps beside DDP with these groups for buckets: the same bits, as sums are added up in the same order.
inline void gives_ddps_bits(
    const Stage& stage,
    const Shapes& shapes,
    const Groups& groups,
    const std::vector<int>& worlds = {2, 1, 3, 4}
) {
    on_ranks(worlds, [&](const Communicator& comm) {
        const auto beside_ddp = [&](const nn::OptimizerOptions& options, Divided divided) {
            const Training training = stage(model(shapes), options, comm);
            const Tensors whole = model(shapes);
            nn::Optimizer all(options, whole);
            constexpr double kManyBits = 7;
            for (int step = 1; step <= 20; ++step) {
                const Tensors own = gradients(whole, comm.rank(), step, kManyBits);
                training.steps_by(own);
                set_to_ddps_mean(whole, own, groups, divided, comm);
                all.step();
            }
            return same(training.weights(), all_elements(whole));
        };
        for (const nn::OptimizerOptions& options : kOptions) {
            INFO(name_of(options) << ": divided by p before the sum, and added up around the ring");
            // both: all ranks make the same calls
            const Comparison multiplied = beside_ddp(options, Divided::times_reciprocal);
            const Comparison divided = beside_ddp(options, Divided::by_p);
            CHECK((divided ? divided : multiplied));
        }
    });
}

/// Backward throws when a gradient has come, each in turn, whatever it throws; then zero_grad() and another backward,
/// which brings nothing for the second parameter.
inline void begins_anew_after_exceptions(const Stage& stage) {
    on_ranks({2, 1}, [&](const Communicator& comm) {
        const Tensors parameters = zeros({{2}, {3}, {1}});
        const Training training = stage(parameters, {.rate = -1}, comm);
        const Settings settings(parameters);
        const auto call = [&](const Bomb& bomb) {
            std::vector<nn::GradientHook> hooks;
            for (const at::Tensor& parameter : parameters) {
                hooks.emplace_back(parameter, bomb);
            }
            loss_in_order(parameters, {2, 1, 0}, {8, 8, 8}).backward();
        };
        float steps = 0;
        everything_throws(3, call, [&] {
            const Comparison left = settings.unchanged();
            training.zero_grad();
            loss_in_order(parameters, {2, 0}, {1, 2, 3}).backward();
            training.step();
            ++steps;
            const std::vector<float> expected = {steps, steps, 0, 0, 0, 3 * steps};
            return left ? same(training.weights(), expected, 1e-6) : left;
        });
    });
}

}  // namespace dist::harness
