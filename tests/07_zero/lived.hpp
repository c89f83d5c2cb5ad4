// Lives of an optimizer of ZeRO: zero_grad, backward and step in any legal order, beside one process that has
// everybody's gradients; and what follows on a call that throws.
#pragma once

#include <c10/core/GradMode.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "course/nn/gradient_hook.hpp"
#include "tests/07_zero/models.hpp"
#include "tests/harness/words/lives.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"

namespace dist::harness {

/// When step() may be called: once after a backward that follows zero_grad(), or at any time.
enum class Steps { once_after_backward, at_any_time };

/// The optimizer under test, and the plain model: the whole parameters, with the mean of all gradients.
template <class Z>
struct Lived {
    Tensors parameters;
    std::shared_ptr<Z> optimizer;
    Tensors whole;
    nn::Optimizer plain;
    bool stepped = false;  // since zero_grad
    int backwards = 0;

    /// Each rank's gradients; rank 0 brings none of parameter `left_out`, if that is one.
    void backward_without(std::size_t left_out, const Communicator& comm) {
        ++backwards;
        const Tensors own = gradients(whole, comm.rank(), backwards);
        at::Tensor loss = at::zeros({}, at::kFloat);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            if (comm.rank() != 0 || i != left_out) {
                loss = loss.add(parameters[i].mul(own[i]).sum());
            }
            at::Tensor& mean = whole[i].mutable_grad();
            mean = mean.defined() ? mean : at::zeros(whole[i].sizes());
            for (int rank = i == left_out ? 1 : 0; rank < comm.size(); ++rank) {
                mean.add_(gradient(whole[i], i, rank, backwards), 1.0 / comm.size());
            }
        }
        loss.backward();
    }

    [[nodiscard]] bool has_gradients() const { return whole[0].grad().defined(); }
};

/// make  a pointer to what has zero_grad() and step().
template <class Make>
void lives_as_one_process(Steps steps, const Make& make) {
    on_ranks({2, 3, 1}, [&](const Communicator& comm) {
        lives([&](std::uint64_t draw) {
            const Shapes shapes = {{2, 3}, {5}, {1}};
            const nn::OptimizerOptions& options = kOptions[draw % 2];
            const Tensors parameters = model(shapes);
            const Tensors whole = model(shapes);
            const auto optimizer = make(parameters, options, comm);
            using Z = typename std::decay_t<decltype(optimizer)>::element_type;
            const auto life = std::make_shared<Lived<Z>>(Lived<Z>{
                parameters, optimizer, whole, nn::Optimizer(options, whole)});
            const auto backward_without = [=, &comm](std::size_t left_out) {
                return [=, &comm] {
                    life->backward_without(left_out, comm);
                    return Comparison();
                };
            };
            const bool always = steps == Steps::at_any_time;
            const auto may_go_back = [=] { return always || !life->stepped; };
            const auto may_step = [=] {
                return always || (!life->stepped && life->has_gradients());
            };
            return std::vector<Step>{
                {"zero_grad", [] { return true; },
                 [=] {
                     life->optimizer->zero_grad();
                     life->plain.zero_grad();
                     life->stepped = false;
                     return Comparison();
                 }},
                {"backward", may_go_back, backward_without(shapes.size())},
                {"backward without the last parameter on rank 0", may_go_back,
                 backward_without(shapes.size() - 1)},
                {"step", may_step, [=] {
                     life->optimizer->step();
                     life->plain.step();
                     life->stepped = true;
                     return same(all_elements(life->parameters), all_elements(life->whole), 1e-5);
                 }}};
        });
    });
}

/// Backward throws when a gradient has come, each in turn, whatever it throws; then zero_grad() and another backward,
/// which brings nothing for the second parameter.
///
/// make  a pointer to what has zero_grad() and step().
template <class Make>
void begins_anew_after_exceptions(const Make& make) {
    on_ranks({2, 1}, [&](const Communicator& comm) {
        const Tensors parameters = zeros({{2}, {3}, {1}});
        const auto optimizer = make(parameters, nn::OptimizerOptions{.rate = -1}, comm);
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
            optimizer->zero_grad();
            loss_in_order(parameters, {2, 0}, {1, 2, 3}).backward();
            optimizer->step();
            ++steps;
            const std::vector<float> expected = {steps, steps, 0, 0, 0, 3 * steps};
            return left ? same(all_elements(parameters), expected, 1e-6) : left;
        });
    });
}

/// A step, with autograd on and off, and one whose messages fail: afterwards autograd is as it was, and parameters
/// are the leaves that they were.
template <class Make>
void step_leaves_settings(const Make& make) {
    on_ranks({2, 3}, [&](const Communicator& comm) {
        const Tensors parameters = model({{2}, {3}});
        const auto optimizer = make(parameters, kOptions[0], comm);
        for (const bool records : {true, false}) {
            for (const bool fails : {false, true}) {
                INFO(
                    "a step " << (fails ? "whose messages fail, " : "") << "with autograd "
                              << (records ? "on" : "off")
                );
                optimizer->zero_grad();
                const c10::AutoGradMode mode(records);
                const Settings settings(parameters);
                {
                    std::optional<FailingMessages> failing;
                    if (fails) {
                        failing.emplace();
                    }
                    answer(comm, [&] { optimizer->step(); });
                }
                CHECK(settings.unchanged());
            }
        }
    });
}

}  // namespace dist::harness
