// What mixed_precision must do: nothing is lost in 16 bits, and no rank steps where another cannot.
#include "exercises/07_zero/mixed_precision.hpp"

#include <ATen/ops/full.h>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Kind = nn::OptimizerOptions::Kind;

const nn::OptimizerOptions kPlain{.rate = 1};

const std::vector<nn::OptimizerOptions> kOptions = {
    {.rate = 0.25, .momentum = 0.5}, {.kind = Kind::adamw, .rate = 0.25}};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A parameter.
at::Tensor leaf(const std::vector<float>& values, at::ScalarType dtype) {
    return filled({static_cast<std::int64_t>(values.size())}, values).to(dtype).requires_grad_();
}

void set_gradient(const at::Tensor& parameter, const std::vector<float>& values) {
    parameter.mutable_grad() = filled(parameter.sizes(), values).to(parameter.scalar_type());
}

std::vector<float> values_of(const at::Tensor& tensor) {
    return elements(tensor.detach().to(at::kFloat));
}

/// Does `tensor`, of any dtype, have these values exactly?
Comparison holds(
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
std::vector<float> all_values(
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

/// A step with `bad` in one gradient of rank `where`, between two good ones: no rank takes it, and the next is
/// as if it had never been.
void skips(const nn::OptimizerOptions& options, float bad, int where, const Communicator& comm) {
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

const Forbid kForbid({"collectives"}, "what ranks exchange goes through your own ring_all_reduce");

}  // namespace

TEST_CASE("master weights begin as the parameters, in float32, and lie elsewhere") {
    on_ranks({2, 1}, [](const Communicator&) {
        for (const auto dtype : {at::kBFloat16, at::kHalf}) {
            const std::vector<at::Tensor> parameters = {
                leaf({1, -2, 0.15625F}, dtype), leaf({}, dtype),
                leaf({-0.0F, kInfinity, -kInfinity}, dtype)};
            const MixedPrecisionOptimizer optimizer(parameters, kPlain);
            REQUIRE(optimizer.masters().size() == parameters.size());
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                INFO("parameter " << i << " of " << parameters[i].scalar_type());
                CHECK(optimizer.masters()[i].scalar_type() == at::kFloat);
                CHECK_FALSE(optimizer.masters()[i].requires_grad());
                CHECK(identical(optimizer.masters()[i], parameters[i].detach().to(at::kFloat)));
            }
        }
    });
}

TEST_CASE("steps too small for 16 bits add up") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const auto dtype : {at::kBFloat16, at::kHalf}) {
            const at::Tensor x = leaf({1, -1}, dtype);
            MixedPrecisionOptimizer optimizer({x}, kPlain);
            constexpr int kSteps = 64;
            const float small = 0x1p-12F;  // next to 1: 2^-7 in bfloat16, 2^-10 in float16
            for (int step = 0; step < kSteps; ++step) {
                set_gradient(x, {-small, small});
                CHECK(optimizer.step(1, comm));
            }
            INFO(kSteps << " steps of 2^-12 from 1 and -1, as " << x.scalar_type());
            const float far = 1 + kSteps * small;
            for (const at::Tensor& tensor : {optimizer.masters()[0], x}) {
                INFO("in " << tensor.scalar_type());
                CHECK(holds(
                    tensor, {far, -far},
                    {{{1, -1},
                      "it has not moved: was it rounded to the parameter after each step?"}}
                ));
            }
        }
    });
}

TEST_CASE("master weights go where parameters in float32 would, and parameters are those rounded") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            for (const auto dtype : {at::kBFloat16, at::kHalf}) {
                const std::vector<at::Tensor> parameters = {
                    leaf(input(7, 0, 1), dtype), leaf(input(3, 0, 2), dtype)};
                MixedPrecisionOptimizer optimizer(parameters, options);
                std::vector<at::Tensor> whole;
                std::vector<const void*> places;
                for (const at::Tensor& parameter : parameters) {
                    places.push_back(parameter.data_ptr());
                    whole.push_back(parameter.detach().to(at::kFloat));
                }
                nn::Optimizer reference(options, whole);
                for (std::uint64_t step = 1; step <= 6; ++step) {
                    for (std::size_t i = 0; i < parameters.size(); ++i) {
                        set_gradient(parameters[i], input(count(parameters[i]), 0, 10 * step + i));
                        whole[i].mutable_grad() = parameters[i].grad().to(at::kFloat);
                    }
                    CHECK(optimizer.step(1, comm));
                    reference.step();
                }
                INFO(
                    "6 steps of " << (options.kind == Kind::adamw ? "adamw" : "momentum") << ", "
                                  << dtype
                );
                for (std::size_t i = 0; i < parameters.size(); ++i) {
                    CHECK(same(values_of(optimizer.masters()[i]), values_of(whole[i])));
                    CHECK(same(values_of(parameters[i]), values_of(whole[i].to(dtype))));
                    CHECK(parameters[i].scalar_type() == dtype);
                    INFO("a layer, or a view, that holds the parameter's memory sees its new values"
                    );
                    CHECK(parameters[i].data_ptr() == places[i]);
                }
            }
        }
    });
}

TEST_CASE("gradients are divided by the scale in float32, and stay as they are") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const at::Tensor x = leaf({0, 0, 0}, at::kHalf);
        MixedPrecisionOptimizer optimizer({x}, kPlain);
        constexpr double kScale = 65536;
        // the least number above 0 in float16 is 2^-24: two of these are below it once divided
        const std::vector<float> scaled = {0x1p-10F, 0x3p-16F, 8};
        set_gradient(x, scaled);
        CHECK(optimizer.step(kScale, comm));
        std::vector<float> expected;
        for (const float gradient : scaled) {
            expected.push_back(-gradient / static_cast<float>(kScale));
        }
        INFO("a step of rate 1 from 0, gradients 2^-10, 3 * 2^-16 and 8 of a loss times 65536");
        CHECK(holds(
            optimizer.masters()[0], expected,
            {{{0, 0, expected[2]}, "divided in float16, where small numbers are 0"},
             {{-scaled[0], -scaled[1], -scaled[2]}, "the scale is still in it"}}
        ));
        CHECK(holds(x.grad(), scaled));
    });
}

TEST_CASE("a scale may be below 1") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const at::Tensor x = leaf({0}, at::kHalf);
        MixedPrecisionOptimizer optimizer({x}, kPlain);
        set_gradient(x, {0.25F});
        INFO("a step of rate 1 from 0, the gradient is 0.25 of a loss times one half");
        CHECK(optimizer.step(0.5, comm));
        CHECK(holds(x, {-0.5F}));
    });
}

TEST_CASE("one element of one rank that is no number skips the step on all ranks") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            for (const float bad : {kInfinity, -kInfinity, kNan}) {
                for (int where = 0; where < comm.size(); ++where) {
                    skips(options, bad, where, comm);
                }
            }
        }
    });
}

TEST_CASE("what is finite in 16 bits is never skipped, however large") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const at::Tensor x = leaf({0, 0, 0}, at::kBFloat16);
        MixedPrecisionOptimizer optimizer({x}, {.rate = 0x1p-100});
        set_gradient(x, {0x1p+127, 0x1p+127, -0x1p+127});
        INFO("2^127 is a number, and no float holds twice as much: neither sums nor squares tell");
        CHECK(optimizer.step(1, comm));
        CHECK(holds(x, {-0x1p+27, -0x1p+27, 0x1p+27}));
    });
}

TEST_CASE("a parameter without a gradient is left alone, and zero_grad throws all of them away") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const std::vector<at::Tensor> parameters = {
            leaf({1, 2}, at::kBFloat16), leaf({3}, at::kBFloat16)};
        MixedPrecisionOptimizer optimizer(parameters, kOptions[0]);
        set_gradient(parameters[0], {1, 1});
        set_gradient(parameters[1], {1});
        CHECK(optimizer.step(1, comm));
        optimizer.zero_grad();
        CHECK_FALSE(parameters[0].grad().defined());
        CHECK_FALSE(parameters[1].grad().defined());
        const std::vector<float> before = all_values(optimizer, parameters);
        CHECK(optimizer.step(1, comm));
        INFO("no gradients any more: not from the step before either, and momentum rests");
        CHECK(same(all_values(optimizer, parameters), before));
        set_gradient(parameters[0], {4, 4});
        CHECK(optimizer.step(1, comm));
        INFO("only the first parameter has a gradient");
        CHECK(holds(optimizer.masters()[1], {2.75F}));
        CHECK(holds(parameters[0], {-0.375F, 0.625F}));
    });
}

TEST_CASE("a parameter without a gradient keeps the values that it was given since") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const std::vector<at::Tensor> parameters = {leaf({1}, at::kHalf), leaf({3}, at::kHalf)};
        MixedPrecisionOptimizer optimizer(parameters, kPlain);
        parameters[1].detach().fill_(9);  // as who freezes a layer and loads another one's weights
        set_gradient(parameters[0], {1});
        CHECK(optimizer.step(1, comm));
        INFO("the second parameter was set to 9, and has no gradient");
        CHECK(
            holds(parameters[1], {9}, {{{3}, "that is its master weight, rounded: leave it alone"}})
        );
    });
}

TEST_CASE("what a step leaves that ended with an error is not in the next one") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const std::vector<double> scales = {1, 0, -1, double{kNan}};  // of the step that fails
        for (const double scale : scales) {
            const std::vector<at::Tensor> parameters = {
                leaf({1, 2}, at::kHalf), leaf({3}, at::kHalf)};
            MixedPrecisionOptimizer optimizer(parameters, kOptions[0]);
            set_gradient(parameters[0], {8, 8});
            set_gradient(parameters[1], {8});
            const std::vector<float> before = all_values(optimizer, parameters);
            const Answer got = [&] {
                const FailingMessages failing;
                return answer(comm, [&] { optimizer.step(scale, comm); });
            }();
            INFO(
                (scale == 1 ? std::string("every message of a step failed")
                            : "a step with scale " + std::to_string(scale))
                << "; then the first parameter alone has a gradient, 4"
            );
            CHECK(got.what == (scale == 1 ? kError : kInvalidArgument));
            CHECK(same(all_values(optimizer, parameters), before));
            optimizer.zero_grad();
            set_gradient(parameters[0], {4, 4});
            CHECK(optimizer.step(1, comm));
            CHECK(
                holds(optimizer.masters()[1], {3}, {{{1}, "a gradient in float32 was left behind"}})
            );
            CHECK(holds(optimizer.masters()[0], {0, 1}));
        }
    });
}

TEST_CASE("a rank without gradients hears of the others', and tells them that it is fine") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        for (int where = 0; where < comm.size(); ++where) {
            for (const float gradient : {1.0F, kInfinity}) {
                const at::Tensor x = leaf({1}, at::kHalf);
                MixedPrecisionOptimizer optimizer({x}, kPlain);
                if (comm.rank() == where) {
                    set_gradient(x, {gradient});
                }
                INFO("rank " << where << " alone has a gradient, " << gradient);
                CHECK(optimizer.step(1, comm) == (gradient == 1));
            }
        }
    });
}

TEST_CASE("parameters and gradients may lie in memory in any way, and be of both dtypes") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Layouts all;
        MixedPrecisionOptimizer optimizer(all.parameters, kPlain);
        std::vector<std::vector<float>> expected;
        for (std::size_t i = 0; i < all.parameters.size(); ++i) {
            all.parameters[i].mutable_grad() = all.gradients[i];
            expected.push_back(values_of(all.parameters[i]));
            const std::vector<float> step = values_of(all.gradients[i]);
            for (std::size_t k = 0; k < step.size(); ++k) {
                expected[i][k] -= step[k] / 4;
            }
        }
        const bool taken = optimizer.step(4, comm);
        CHECK(taken);
        for (std::size_t i = 0; i < all.parameters.size(); ++i) {
            INFO(all.names[i]);
            CHECK(holds(optimizer.masters()[i], expected[i]));
            const at::Tensor rounded = filled({all.parameters[i].numel()}, expected[i]);
            CHECK(same(
                values_of(all.parameters[i]), values_of(rounded.to(all.parameters[i].scalar_type()))
            ));
        }
    });
}

TEST_CASE("two optimizers, or two scalers, know nothing of each other") {
    two_alive("MixedPrecisionOptimizer", [](std::size_t which, const Communicator& comm) {
        const auto n = static_cast<float>(which + 1);
        const at::Tensor x = leaf(std::vector<float>(which + 1, n), at::kHalf);
        const auto optimizer = std::make_shared<MixedPrecisionOptimizer>(std::vector{x}, kPlain);
        const auto step = [=, &comm](float gradient) {
            set_gradient(x, std::vector<float>(which + 1, gradient));
            optimizer->step(1, comm);
        };
        return Life{
            .calls = {[=] { step(2 * n); }, [=] { step(kInfinity); }, [=] { step(n); }},
            .outcome = [=] { return holds(x, std::vector<float>(which + 1, -2 * n)); }};
    });
    two_alive(
        "LossScaler",
        [](std::size_t which, const Communicator&) {
            const auto scaler = std::make_shared<LossScaler>(8, 3);
            const auto update = [=](bool taken) { return [=] { scaler->update(taken); }; };
            const bool doubles = which == 0;  // the other's window begins anew
            return Life{
                .calls = {update(true), update(doubles), update(doubles), update(true)},
                .outcome = [=] {
                    return same(
                        std::vector{static_cast<float>(scaler->scale())},
                        std::vector{doubles ? 16.0F : 2.0F}
                    );
                }};
        },
        {1}
    );
}

TEST_CASE("between two steps it holds 4 bytes a parameter and what the optimizer keeps, no more") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            constexpr std::size_t kN = 100'000;
            const at::Tensor x = at::full({kN}, 1, at::kBFloat16).requires_grad_();
            x.mutable_grad() = at::full({kN}, 1, at::kBFloat16);
            const MemoryBefore before;
            MixedPrecisionOptimizer optimizer({x}, options);
            const Comparison masters = same_bytes(
                before.tensors_since(), 4 * kN,
                {{2 * kN, "are the master weights in float32?"}, {0, "are there master weights?"}}
            );
            const bool adam = options.kind == Kind::adamw;
            INFO(
                kN << " parameters; "
                   << (adam ? "adamw keeps 8 bytes for each" : "momentum keeps 4 bytes for each")
            );
            CHECK(masters);
            for (const bool finite : {true, false}) {
                x.mutable_grad()[0] = finite ? 1 : kNan;
                CHECK(optimizer.step(1, comm) == finite);
                INFO("after a step that was " << (finite ? "taken" : "skipped"));
                const Comparison tensors = same_bytes(
                    before.tensors_since(), (4 + (adam ? 8 : 4)) * kN, {},
                    {{4 * kN, "4 a parameter too many: are the gradients in float32 still there?"},
                     {2 * kN, "2 a parameter too many: are divided gradients still there?"}}
                );
                CHECK(tensors);
                CHECK(before.nothing_beside());
            }
        }
    });
}

TEST_CASE("a step sends one float around the ring, and nothing else") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const std::vector<at::Tensor> parameters = {leaf({1, 2}, at::kHalf), leaf({3}, at::kHalf)};
        MixedPrecisionOptimizer optimizer(parameters, kPlain);
        for (const at::Tensor& parameter : parameters) {
            parameter.mutable_grad() = parameter.detach().clone();
        }
        const long steps = 2L * (comm.size() - 1);
        const Traffic traffic = record(comm, [&] { optimizer.step(2, comm); });
        CHECK(within(
            traffic, {.messages_sent = at_most(steps),
                      .bytes_sent = at_most(steps * float_bytes(1)),
                      .among = neighbours(comm)}
        ));
    });
}

TEST_CASE("parameters of another dtype and scales that are not above 0 are refused") {
    on_ranks({2}, [](const Communicator& comm) {
        for (const auto dtype : {at::kFloat, at::kDouble}) {
            for (std::size_t where = 0; where < 3; ++where) {
                std::vector<at::Tensor> parameters(3, leaf({1}, at::kHalf));
                parameters[where] = leaf({1}, dtype);
                const auto call = [&] { MixedPrecisionOptimizer(parameters, kPlain); };
                const std::string what = "parameter " + std::to_string(where) + " of 3 in ";
                refuses(comm, what + c10::toString(dtype), call, as_now(parameters));
            }
        }
        const at::Tensor x = leaf({1}, at::kHalf);
        MixedPrecisionOptimizer optimizer({x}, kPlain);
        set_gradient(x, {1});
        for (const double scale : {0.0, -1.0, double{kNan}}) {
            const std::string what = "scale " + std::to_string(scale);
            const auto step = [&] { optimizer.step(scale, comm); };
            refuses(comm, what, step, as_now({x, optimizer.masters()[0]}));
            refuses(comm, what, [&] { LossScaler{scale}; });
        }
        for (const int window : {0, -1}) {
            const std::string what = "a window of " + std::to_string(window) + " steps";
            refuses(comm, what, [&] { LossScaler(1, window); });
        }
    });
}

TEST_CASE("LossScaler doubles after a window of steps in a row, and halves at each that is skipped"
) {
    on_ranks({1}, [](const Communicator&) {
        LossScaler scaler;
        CHECK(scaler.scale() == 65536);
        for (int step = 1; step <= 4000; ++step) {
            scaler.update(true);
            INFO("after " << step << " steps that were taken; the window is 2000");
            REQUIRE(scaler.scale() == (step < 2000 ? 65536 : step < 4000 ? 131072 : 262144));
        }
        LossScaler three(8, 3);
        const std::vector<std::pair<bool, double>> steps = {
            {true, 8},  {true, 8},  {false, 4}, {true, 4}, {true, 4}, {true, 8}, {true, 8},
            {false, 4}, {false, 2}, {true, 2},  {true, 2}, {true, 4}, {true, 4}, {true, 4},
            {true, 8},  {false, 4}, {true, 4},  {true, 4}, {false, 2}};
        std::string so_far;
        for (const auto& [taken, scale] : steps) {
            three.update(taken);
            so_far += taken ? 't' : 's';
            INFO("LossScaler(8, 3), steps taken (t) and skipped (s): " << so_far);
            REQUIRE(three.scale() == scale);
        }
    });
}

TEST_CASE("LossScaler halves and doubles without an end") {
    on_ranks({1}, [](const Communicator&) {
        LossScaler small(1, 1);
        LossScaler large(1, 1);
        double times = 1;
        for (int step = 1; step <= 40; ++step) {
            small.update(false);
            large.update(true);
            times *= 2;
            INFO("from 1, " << step << " times");
            {
                INFO("halved");
                REQUIRE(small.scale() * times == 1);
            }
            INFO("doubled");
            REQUIRE(large.scale() == times);
        }
    });
}

TEST_CASE("with a LossScaler, ranks find the scale that one of them needs, and train on alike") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const at::Tensor x = leaf({1, 1}, at::kHalf);
        MixedPrecisionOptimizer optimizer({x}, {.rate = 0x1p-14});
        LossScaler scaler(0x1p+20, 4);
        int skipped = 0;
        for (int step = 0; step < 20; ++step) {
            // the last rank's gradient is 16 times as large: its limit is 65504 / 16
            const double gradient = scaler.scale() * (comm.rank() == comm.size() - 1 ? 16 : 1);
            x.mutable_grad() = at::full({2}, gradient, at::kFloat).to(at::kHalf);
            const bool taken = optimizer.step(scaler.scale(), comm);
            skipped += taken ? 0 : 1;
            scaler.update(taken);
        }
        INFO("20 steps from scale 2^20, window 4; 2^11 is the largest that the last rank can take");
        CHECK(skipped == 11);
        CHECK(scaler.scale() == 2048);
    });
}

TEST_CASE("mixed_precision takes ranks from the communicator it is given") {
    on_ranks({4}, [](const Communicator& comm) {
        const Communicator pair = comm.split(comm.rank() % 2, -comm.rank());
        const at::Tensor x = leaf({1}, at::kHalf);
        MixedPrecisionOptimizer optimizer({x}, kPlain);
        set_gradient(x, {comm.rank() == 2 ? kNan : 1});
        INFO("two groups; a gradient of one rank of the first is NaN");
        CHECK(optimizer.step(1, pair) == (comm.rank() % 2 == 1));
    });
}

TEST_CASE("mixed_precision is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        const at::Tensor x = leaf({1}, at::kHalf);
        MixedPrecisionOptimizer optimizer({x}, kPlain);
        for (int bad = 0; bad < comm.size(); ++bad) {
            set_gradient(x, {comm.rank() == bad ? kInfinity : 1});
            CHECK_FALSE(optimizer.step(1, comm));
        }
        set_gradient(x, {1});
        CHECK(optimizer.step(1, comm));
    });
}
