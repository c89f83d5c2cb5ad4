// Gradients under a Reducer: of any layout and dtype, and from before. Each function is the body of a TEST_CASE.
#pragma once

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/06_ddp/training.hpp"

namespace dist::harness {

inline void keeps_bits_without_dimensions() {
    on_ranks({3, 5}, [](const Communicator& comm) {
        const std::vector<at::Tensor> parameters = {
            at::ones({}).requires_grad_(), at::ones({2}).requires_grad_()};
        Reducer reducer(parameters, {1}, all_reduce_hook(comm), comm);
        for (int step = 1; step <= 8; ++step) {
            reducer.prepare_for_backward();
            for (const at::Tensor& parameter : parameters) {
                parameter.mutable_grad().reset();
                parameter.mul(1.0 / (7 * step)).sum().backward();
            }
            reducer.finalize_backward();
            INFO("every gradient is 1 / " << 7 * step << "; divided by p in float, all of them");
            CHECK(same(
                elements(parameters[0].grad().view(-1)),
                elements(parameters[1].grad().narrow(0, 0, 1))
            ));
        }
    });
}

inline void moves_gradients() {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        std::vector<at::Tensor> flats;
        Training training({1, 2}, 1, comm, [&](const at::Tensor& flat) {
            flats.push_back(flat);
            return all_reduce_hook(comm)(flat);
        });
        const auto p = static_cast<float>(comm.size());
        const auto own = static_cast<float>(comm.rank() + 1);
        const float mean = (p + 1) / 2;  // of 1, ..., p
        float held = 0;
        for (const std::string before : {"zero", "thrown away", "zero", "kept", "elsewhere"}) {
            for (const at::Tensor& x : training.model.parameters) {
                at::Tensor& gradient = x.mutable_grad();
                gradient = before == "thrown away" ? at::Tensor()
                           : before == "elsewhere" ? gradient.clone()
                           : before == "zero"      ? gradient.zero_()
                                                   : gradient;
            }
            held = before == "zero" || before == "thrown away" ? 0 : held;
            INFO("gradients of the pass before are " << before);
            training.reducer->prepare_for_backward();
            training.model.backward({1, 0}, {own, own});
            training.reducer->finalize_backward();
            const auto each = [](float value) { return std::vector<float>(3, value); };
            const Comparison means = same(
                training.model.each_gradient(), each(held + mean), kRounding,
                {{each(held + own),
                  "that is this rank's own: it met no other, or its sum lies elsewhere"},
                 {each((held + mean) * p), "that is the sum of all ranks', not their mean"}}
            );
            held += mean;
            CHECK(means);
        }
        for (const at::Tensor& flat : flats) {
            flat.fill_(-1);
        }
        INFO("-1 was written to the flat tensors: the gradients are parts of them");
        CHECK(same(training.model.each_gradient(), std::vector<float>(3, -1)));
    });
}

inline void has_gradients_of_the_whole_batch() {
    on_ranks({1, 2, 3, 4}, [](const Communicator& comm) {
        const at::Tensor x = filled({2 * comm.size(), 3}, 0, 1);
        const at::Tensor y = filled({2 * comm.size(), 1}, 0, 2);
        const auto layer = [](at::IntArrayRef shape) {
            return filled(shape, 0, 3).mul(0.1).requires_grad_();
        };
        const auto backward = [&](const auto& weights, std::int64_t begin, std::int64_t rows) {
            const at::Tensor out = x.narrow(0, begin, rows).matmul(weights[0]).tanh();
            out.matmul(weights[1]).sub(y.narrow(0, begin, rows)).square().mean().backward();
        };
        const std::vector<at::Tensor> alone = {layer({3, 4}), layer({4, 1})};
        backward(alone, 0, x.size(0));
        const std::vector<at::Tensor> together = {layer({3, 4}), layer({4, 1})};
        Reducer reducer(together, {kTwoFloats}, all_reduce_hook(comm), comm);
        for (int pass = 0; pass < 2; ++pass) {
            forget_gradients(together);
            reducer.prepare_for_backward();
            backward(together, 2 * comm.rank(), 2);
            reducer.finalize_backward();
        }
        for (std::size_t i = 0; i < alone.size(); ++i) {
            CHECK(same(elements(together[i].grad()), elements(alone[i].grad()), 1e-5));
        }
    });
}

inline void takes_older_gradients() {
    on_ranks({1, 2}, [](const Communicator& comm) {
        const Model model({1, 2});
        model.backward(backwards(2), {5, 6});
        Reducer reducer(model.parameters, {1}, all_reduce_hook(comm), comm);
        const std::vector<float> kept = model.each_gradient();
        reducer.prepare_for_backward();
        model.backward(backwards(2), {10, 20});
        reducer.finalize_backward();
        INFO("gradients of 5 and 6, then a Reducer, and a pass that adds 10 and 20");
        CHECK(same(kept, std::vector<float>{5, 6, 6}));
        CHECK(same(
            model.each_gradient(), std::vector<float>{15, 26, 26}, kRounding,
            {{{10, 20, 20}, "that is what this pass brought alone"}}
        ));
    });
}

inline void divides_any_dtype() {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const auto p = static_cast<float>(comm.size());
        std::vector<at::Tensor> parameters;
        for (const at::ScalarType dtype :
             {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kHalf}) {
            parameters.push_back(at::full({2}, 1, dtype).requires_grad_());
        }
        const auto in_float = [sum = all_reduce_hook(comm)](const at::Tensor& flat) {
            const at::Tensor floats = flat.to(at::kFloat);
            sum(floats).get();
            flat.copy_(floats);
            return ready();
        };
        Reducer reducer(parameters, {1000}, in_float, comm);
        for (int pass = 0; pass < 2; ++pass) {
            forget_gradients(parameters);
            reducer.prepare_for_backward();
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                parameters[i].mul(p * static_cast<float>(i + 1)).sum().backward();
            }
            reducer.finalize_backward();
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                const at::Tensor& gradient = parameters[i].grad();
                INFO("parameter " << i << " of half, bfloat16, float, double and half");
                CHECK(gradient.scalar_type() == parameters[i].scalar_type());
                CHECK(same(
                    elements(gradient.to(at::kFloat)),
                    std::vector<float>(2, p * static_cast<float>(i + 1))
                ));
            }
        }
    });
}

}  // namespace dist::harness
