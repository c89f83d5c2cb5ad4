// What every stage of ZeRO must do. A test that includes this tries it on its stage.
#pragma once

#include <array>
#include <c10/core/GradMode.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/07_zero/stages.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

/// A model in the hands of the stage, and beside it the whole model, with the mean of all ranks' gradients.
struct Lived {
    Communicator comm;
    Training training;
    Tensors whole;
    nn::Optimizer plain;
    at::Tensor loss = {};
    int losses = 0;

    Lived(const Shapes& shapes, const nn::OptimizerOptions& options, const Communicator& all)
        : comm(all.split(0, all.rank())),
          training(stage_to_try()(model(shapes), options, comm)),
          whole(model(shapes)),
          plain(options, whole) {}

    void zero_grad() {
        training.zero_grad();
        plain.zero_grad();
    }

    /// A loss of gradients times `scale`. Rank `absent` brings none of parameter `left_out`.
    void make_loss(double scale, int absent = -1, std::size_t left_out = 0) {
        ++losses;
        Tensors own = gradients(whole, comm.rank(), losses);
        for (std::size_t i = 0; i < whole.size(); ++i) {
            own[i].mul_(scale);
            at::Tensor& mean = whole[i].mutable_grad();
            mean = mean.defined() ? mean : at::zeros(whole[i].sizes());
            for (int rank = 0; rank < comm.size(); ++rank) {
                if (rank != absent || i != left_out) {
                    mean.add_(gradient(whole[i], i, rank, losses), scale / comm.size());
                }
            }
        }
        if (comm.rank() == absent) {
            own[left_out].reset();
        }
        loss = training.loss(own);
    }

    void step() {
        training.step();
        plain.step();
    }

    [[nodiscard]] Comparison as_one_process() const {
        return same(training.weights(), all_elements(whole), 1e-5);
    }
};

TEST_CASE("gradients are divided by p before they are added up") {
    on_ranks({2, 4}, [](const Communicator& comm) {
        const Tensors parameters = {filled({1}, {1}).requires_grad_()};
        const Training training = stage_to_try()(parameters, {.rate = 0x1p-120}, comm);
        training.steps_by({filled({1}, {0x1p+127F})});
        INFO("every rank's gradient is 2^127, and no float holds twice as much");
        CHECK(same(training.weights(), std::vector<float>{1 - 128}));
    });
}

TEST_CASE("zero_grad, backward and step in any order are those of one process") {
    constexpr std::array brings = {
        "", "backward, ", "backward without the last parameter on rank 0, ",
        "backward whose gradients are zeros, ", "backward, backward, "};
    on_ranks({2, 3}, [&](const Communicator& comm) {
        const auto try_order = [&](bool zero_grad, std::size_t what) {
            Lived life({{2, 3}, {5}, {1}}, kOptions[0], comm);
            const auto round = [&](bool zeroes, std::size_t which) {
                if (zeroes) {
                    life.zero_grad();
                }
                for (int i = which == 4 ? 2 : which == 0 ? 0 : 1; i > 0; --i) {
                    life.make_loss(which == 3 ? 0 : 1, which == 2 ? 0 : -1, 2);
                    life.loss.backward();
                }
                life.step();
            };
            if (life.training.steps_at_any_time || (zero_grad && what != 0)) {
                round(true, 1);
                round(zero_grad, what);
                round(true, 1);
                INFO(
                    "these calls in a row: zero_grad, backward, step, "
                    << (zero_grad ? "zero_grad, " : "") << brings[what]
                    << "step, zero_grad, backward, step"
                );
                CHECK(life.as_one_process());
            }
        };
        for (std::size_t what = 0; what < brings.size(); ++what) {
            try_order(true, what);
            try_order(false, what);
        }
    });
}

TEST_CASE("two models that are alive at a time know nothing of each other") {
    two_alive("these models", [](std::size_t which, const Communicator& comm) {
        // of as many elements, since memory may be shared by what is as long
        const Shapes shapes = which == 0 ? Shapes{{2, 3}, {4}} : Shapes{{4}, {3, 2}};
        const auto life = std::make_shared<Lived>(shapes, kOptions[which], comm);
        const int absent = which == 0 ? 0 : comm.size() - 1;
        Life calls;
        for (int step = 1; step <= 2; ++step) {
            calls.calls.insert(
                calls.calls.end(), {[=] { life->zero_grad(); }, [=] { life->make_loss(1, absent); },
                                    [=] { life->loss.backward(); }, [=] { life->step(); }}
            );
        }
        calls.outcome = [=] { return life->as_one_process(); };
        return calls;
    });
}

TEST_CASE("a step leaves autograd and the parameters' flags as they were, also if a message fails"
) {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Tensors parameters = model({{2}, {3}});
        const Training training = stage_to_try()(parameters, kOptions[0], comm);
        for (const bool records : {true, false}) {
            for (const bool fails : {false, true}) {
                INFO(
                    "a step " << (fails ? "whose messages fail, " : "") << "with autograd "
                              << (records ? "on" : "off")
                );
                training.zero_grad();
                const c10::AutoGradMode mode(records);
                const Settings settings(parameters);
                {
                    std::optional<FailingMessages> failing;
                    if (fails) {
                        failing.emplace();
                    }
                    answer(comm, [&] { training.step(); });
                }
                CHECK(settings.unchanged());
            }
        }
    });
}

TEST_CASE(
    "it refuses other parameters: no leaf, not in float32, frozen, or one that stands there twice"
) {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const at::Tensor good = filled({2}, {1, 2}).requires_grad_();
        good.mutable_grad() = filled({2}, {3, 4});
        const auto as_before = as_now({good});
        const auto refused = [&](const std::string& what, const at::Tensor& bad) {
            const auto call = [&](const Tensors& parameters) {
                return [&comm, parameters] { stage_to_try()(parameters, {}, comm); };
            };
            refuses(comm, what, call({good, bad}), as_before);
            refuses(comm, what, call({bad, good}), as_before);
            const Tensors only_here = comm.rank() == 0 ? Tensors{good, bad} : Tensors{};
            refuses(comm, what + ", on rank 0 alone", call(only_here), as_before, {0});
        };
        refused("a parameter that is frozen", filled({2}, {1, 2}));
        refused("no leaf", good.mul(2));
        refused("an undefined tensor", at::Tensor());
        refused("double", filled({2}, {1, 2}).to(at::kDouble).requires_grad_());
        const CrashMeans crash("as if tied weights, one tensor twice, were taken for two parameters"
        );
        refused("tied weights, one tensor twice", good);
    });
}

TEST_CASE("it takes ranks from the communicator it is given") {
    on_ranks({4}, [](const Communicator& comm) {
        INFO("two groups of two, numbered backwards");
        trains(stage_to_try(), kShapes, kOptions[0], comm.split(comm.rank() % 2, -comm.rank()));
    });
}

TEST_CASE("it is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        trains(stage_to_try(), kShapes, kOptions[1], comm);
    });
}

}  // namespace dist::harness
