// Backward in two halves: what I and W compute, what is there after each, and what is gone.
#pragma once

#include <memory>

#include "tests/08_model_parallel/multiplications.hpp"
#include "tests/08_model_parallel/pipelined.hpp"
#include "tests/harness/words/gone.hpp"

namespace dist::harness {

/// Two stages of three layers, on one rank.
struct Halves {
    static constexpr std::int64_t kColumns = 5;
    /// Multiplications for a layer's output, the gradient of its input, or that of its weight.
    static constexpr std::int64_t kProduct = 6 * kColumns * kColumns;

    /// What is to be seen when a stage is called.
    struct Look {
        std::int64_t products = 0;             // since the call before has ended
        std::ptrdiff_t with_gradient[2] = {};  // leaves of each stage
        std::vector<bool> gone = {};  // of the last stage's micro-batch 0: what each layer gave
    };

    Multiplications multiplications = {};
    std::vector<Look> looks = {};
    std::vector<WatchedMemory> results = {};
    StagedModel model = {};

    void look() {
        Look now{multiplications.taken() / kProduct};
        for (std::size_t k = 0; k < model.stages.size(); ++k) {
            now.with_gradient[k] = std::ranges::count_if(
                model.stages[k].leaves, [](const at::Tensor& leaf) { return leaf.grad().defined(); }
            );
        }
        for (const WatchedMemory& one : results) {
            now.gone.push_back(one.is_gone());
        }
        looks.push_back(now);
    }
};

/// Three layers. `watched` may be empty.
inline TestedStage three_layers(int k, const std::shared_ptr<Halves>& watched) {
    Tensors leaves;
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::uint64_t salt = 10 * static_cast<std::uint64_t>(k) + 2 * i;
        leaves.push_back(filled({Halves::kColumns, Halves::kColumns}, 0, salt).div(16));
        leaves.push_back(filled({Halves::kColumns}, 0, salt + 1).div(16));
    }
    for (at::Tensor& leaf : leaves) {
        leaf.requires_grad_();
    }
    const std::weak_ptr<Halves> weak = watched;
    const auto forward = [leaves, weak, k](const at::Tensor& x) {
        const std::shared_ptr<Halves> watch = weak.lock();
        if (watch) {
            watch->look();
        }
        Tensors h = {x};
        for (std::size_t i = 0; i < leaves.size(); i += 2) {
            h.push_back(at::linear(h.back(), leaves[i], leaves[i + 1]).tanh());
        }
        if (watch && k == 1 && watch->results.empty()) {
            watch->results = {WatchedMemory(h[1]), WatchedMemory(h[2]), WatchedMemory(h[3])};
        }
        if (watch) {
            (void)watch->multiplications.taken();
        }
        return h[3];
    };
    return {forward, {2, 3, Halves::kColumns}, leaves};
}

/// F stand between I and W, so that a stage is called there, and looks.
inline void splits_backward(const Communicator& comm) {
    const Schedule rows = read_schedule(
        "0F0,0F1,0F2,1F0,1I0,1F1,1W0,1F2,0I0,0F3,0W0,1F3,1I1,1W1,0I1,0W1,1I2,1W2,0I2,0W2,1I3,1W3,"
        "0I3,0W3\n"
    );
    const auto watched = std::make_shared<Halves>();
    watched->model.stages = {three_layers(0, watched), three_layers(1, watched)};
    (void)watched->model.train(rows, 4, comm);
    StagedModel alone{{three_layers(0, {}), three_layers(1, {})}};
    (void)alone.train_alone(in_order(4), 4);
    INFO(text_of_row(rows[0], 16));
    const auto check = [&](std::size_t call, std::int64_t products,
                           std::vector<std::ptrdiff_t> leaves) {
        const Halves::Look& look = watched->looks.at(call);
        {
            INFO("products of a layer since the call before");
            CHECK(look.products == products);
        }
        INFO("leaves of each stage, of six, that have a gradient");
        CHECK(look.with_gradient[0] == leaves[0]);
        CHECK(look.with_gradient[1] == leaves[1]);
    };
    REQUIRE(watched->looks.size() == 8);
    {
        INFO("after 1I0: the gradient of each layer's input, and no leaf's");
        check(4, 3, {0, 0});
    }
    {
        INFO("after 1W0: the gradient of each layer's weight, and no input's again");
        check(5, 3, {0, 6});
    }
    {
        INFO("after 0I0: the input of stage 0 needs no gradient");
        check(6, 0, {0, 6});
    }
    {
        INFO("after 0W0: gradients of three weights, and of two layers' inputs");
        check(7, 5, {6, 6});
    }
    {
        INFO("is what the last layer gave gone after 1I0? Only its input's gradient needed that");
        CHECK(watched->looks[4].gone[2]);
    }
    {
        INFO("is what the layers gave gone after 1W0? Nobody needs it any more");
        CHECK(watched->looks[5].gone == std::vector<bool>{true, true, true});
    }
    has_gradients_of(watched->model, alone, rows[0], 4);
}

}  // namespace dist::harness
