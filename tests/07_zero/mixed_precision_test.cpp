// What mixed_precision must do: nothing is lost in 16 bits, and no rank steps where another cannot.
#include "exercises/07_zero/mixed_precision.hpp"

#include <ATen/ops/full.h>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/07_zero/models.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "what ranks exchange goes through your own ring_all_reduce");

const nn::OptimizerOptions kPlain{.rate = 1};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A parameter.
at::Tensor leaf(const std::vector<float>& values, at::ScalarType dtype = at::kHalf) {
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

/// Master weights and parameters, one after the other.
std::vector<float> all_values(const MixedPrecisionOptimizer& optimizer, const Tensors& parameters) {
    Tensors all = optimizer.masters();
    for (const at::Tensor& parameter : parameters) {
        all.push_back(parameter.detach().to(at::kFloat));
    }
    return all_elements(all);
}

}  // namespace

TEST_CASE("master weights begin as the parameters, in float32, and lie elsewhere") {
    on_ranks({2, 1}, [](const Communicator&) {
        for (const auto dtype : {at::kBFloat16, at::kHalf}) {
            const Tensors parameters = {
                leaf({1, -2, 0.15625F}, dtype), leaf({}, dtype),
                leaf({-0.0F, kInfinity, -kInfinity}, dtype)};
            const MixedPrecisionOptimizer optimizer(parameters, kPlain);
            REQUIRE(optimizer.masters().size() == parameters.size());
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                INFO("parameter " << i << " of " << parameters[i].scalar_type());
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
                const at::Tensor x = leaf(input(7, 0, 1), dtype);
                const void* const place = x.data_ptr();
                MixedPrecisionOptimizer optimizer({x}, options);
                const at::Tensor whole = x.detach().to(at::kFloat);
                nn::Optimizer reference(options, {whole});
                for (std::uint64_t step = 1; step <= 6; ++step) {
                    set_gradient(x, input(7, 0, 10 * step));
                    whole.mutable_grad() = x.grad().to(at::kFloat);
                    CHECK(optimizer.step(1, comm));
                    reference.step();
                }
                INFO("6 steps of " << name_of(options) << ", " << dtype);
                CHECK(same(values_of(optimizer.masters()[0]), values_of(whole)));
                CHECK(same(values_of(x), values_of(whole.to(dtype))));
                CHECK(x.scalar_type() == dtype);
                INFO("a layer, or a view, that holds the parameter's memory sees its new values");
                CHECK(x.data_ptr() == place);
            }
        }
    });
}

TEST_CASE("gradients are divided by the scale in float32, and stay as they are") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        for (const double scale : {65536.0, 0.5}) {
            const at::Tensor x = leaf({0, 0, 0});
            MixedPrecisionOptimizer optimizer({x}, kPlain);
            // the least number above 0 in float16 is 2^-24: divided by 65536, two of these are below it
            const std::vector<float> scaled = {0x1p-10F, 0x3p-16F, 8};
            set_gradient(x, scaled);
            INFO("gradients 2^-10, 3 * 2^-16 and 8 of a loss times " << scale);
            CHECK(optimizer.step(scale, comm));
            std::vector<float> expected;
            for (const float gradient : scaled) {
                expected.push_back(-gradient / static_cast<float>(scale));
            }
            INFO("a step of rate 1 from 0");
            CHECK(holds(
                optimizer.masters()[0], expected,
                {{{0, 0, expected[2]}, "divided in float16, where small numbers are 0"},
                 {{-scaled[0], -scaled[1], -scaled[2]}, "the scale is still in it"}}
            ));
            CHECK(holds(x.grad(), scaled));
        }
    });
}

TEST_CASE("one element of one rank that is no number skips the step on all ranks") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const auto skips = [&](const nn::OptimizerOptions& options, float bad, int where) {
            const Tensors parameters = {leaf({1, 2}), leaf({3, 4, 5})};
            const Tensors others = {leaf({1, 2}), leaf({3, 4, 5})};
            MixedPrecisionOptimizer optimizer(parameters, options);
            MixedPrecisionOptimizer undisturbed(others, options);
            const auto step = [&](MixedPrecisionOptimizer& of, const Tensors& its, float last) {
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
        };
        for (const nn::OptimizerOptions& options : kOptions) {
            for (const float bad : {kInfinity, -kInfinity, kNan}) {
                for (int where = 0; where < comm.size(); ++where) {
                    skips(options, bad, where);
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
        const Tensors parameters = {leaf({1, 2}), leaf({3})};
        MixedPrecisionOptimizer optimizer(parameters, {.rate = 0.25, .momentum = 0.5});
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
        parameters[1].detach().fill_(9);  // as who freezes a layer and loads another one's weights
        set_gradient(parameters[0], {4, 4});
        CHECK(optimizer.step(1, comm));
        INFO("only the first parameter has a gradient; the second one was set to 9");
        CHECK(holds(optimizer.masters()[1], {2.75F}));
        CHECK(holds(
            parameters[1], {9}, {{{2.75F}, "that is its master weight, rounded: leave it alone"}}
        ));
        CHECK(holds(parameters[0], {-0.375F, 0.625F}));
    });
}

TEST_CASE("what a step leaves that ended with an error is not in the next one") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Tensors parameters = {leaf({1, 2}), leaf({3})};
        MixedPrecisionOptimizer optimizer(parameters, kPlain);
        set_gradient(parameters[0], {8, 8});
        set_gradient(parameters[1], {8});
        const std::vector<float> before = all_values(optimizer, parameters);
        INFO("every message of a step failed; then the first parameter alone has a gradient, 4");
        {
            const FailingMessages failing;
            CHECK(answer(comm, [&] { optimizer.step(1, comm); }).what == kError);
        }
        CHECK(same(all_values(optimizer, parameters), before));
        optimizer.zero_grad();
        set_gradient(parameters[0], {4, 4});
        CHECK(optimizer.step(1, comm));
        CHECK(holds(optimizer.masters()[1], {3}, {{{-5}, "a gradient in float32 was left behind"}})
        );
        CHECK(holds(optimizer.masters()[0], {-3, -2}));
    });
}

TEST_CASE("a rank without gradients hears of the others', and tells them that it is fine") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        for (int where = 0; where < comm.size(); ++where) {
            for (const float gradient : {1.0F, kInfinity}) {
                const at::Tensor x = leaf({1});
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
        Tensors parameters;
        std::vector<std::string> names;
        for (const auto& shape : Shapes{{3, 4}, {}, {0}}) {
            for (std::size_t k = 0; k + 1 < std::size(kLayouts); ++k) {
                const auto dtype = k == 0 ? at::kBFloat16 : at::kHalf;
                const auto as = [&](std::uint64_t salt, Layout layout) {
                    return laid_out(filled(shape, 0, salt).to(dtype), layout);
                };
                parameters.push_back(as(k, kLayouts[k]).requires_grad_());
                parameters.back().mutable_grad() = as(k + 10, kLayouts[k + 1]);
                names.push_back(
                    name_of(kLayouts[k]) + ", its gradient " + name_of(kLayouts[k + 1])
                );
            }
        }
        MixedPrecisionOptimizer optimizer(parameters, kPlain);
        Tensors expected;
        for (const at::Tensor& x : parameters) {
            expected.push_back(x.detach().to(at::kFloat).sub(x.grad().to(at::kFloat).div(4)));
        }
        const bool taken = optimizer.step(4, comm);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO("a parameter of shape " << parameters[i].sizes() << ", " << names[i]);
            const at::Tensor rounded = expected[i].to(parameters[i].scalar_type());
            CHECK(same(elements(optimizer.masters()[i]), elements(expected[i])));
            CHECK(same(values_of(parameters[i]), values_of(rounded)));
        }
        CHECK(taken);
    });
}

TEST_CASE("between two steps it holds 4 bytes a parameter and what the optimizer keeps, no more") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            constexpr std::size_t kN = 100'000;
            const std::size_t kept = options.kind == Kind::adamw ? 8 : 4;
            const at::Tensor x = at::full({kN}, 1, at::kBFloat16).requires_grad_();
            x.mutable_grad() = at::full({kN}, 1, at::kBFloat16);
            const MemoryBefore before;
            MixedPrecisionOptimizer optimizer({x}, options);
            INFO(
                kN << " parameters; " << name_of(options) << " keeps " << kept << " bytes for each"
            );
            CHECK(same_bytes(
                before.tensors_since(), 4 * kN,
                {{2 * kN, "are the master weights in float32?"}, {0, "are there master weights?"}}
            ));
            for (const bool finite : {true, false}) {
                x.mutable_grad()[0] = finite ? 1 : kNan;
                CHECK(optimizer.step(1, comm) == finite);
                INFO("after a step that was " << (finite ? "taken" : "skipped"));
                CHECK(same_bytes(
                    before.tensors_since(), (4 + kept) * kN, {},
                    {{4 * kN, "4 a parameter too many: are the gradients in float32 still there?"},
                     {2 * kN, "2 a parameter too many: are divided gradients still there?"}}
                ));
                CHECK(before.nothing_beside());
            }
        }
    });
}

TEST_CASE("a step sends one float around the ring, and nothing else") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const Tensors parameters = {leaf({1, 2}), leaf({3})};
        MixedPrecisionOptimizer optimizer(parameters, kPlain);
        set_gradient(parameters[0], {1, 2});
        set_gradient(parameters[1], {3});
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
            for (const std::size_t where : {0, 1}) {
                Tensors parameters(2, leaf({1}));
                parameters[where] = leaf({1}, dtype);
                const auto call = [&] { MixedPrecisionOptimizer(parameters, kPlain); };
                const std::string what = "parameter " + std::to_string(where) + " of 2 in ";
                refuses(comm, what + c10::toString(dtype), call, as_now(parameters));
            }
        }
        const at::Tensor x = leaf({1});
        MixedPrecisionOptimizer optimizer({x}, kPlain);
        set_gradient(x, {1});
        for (const double scale : {0.0, -1.0, double{kNan}}) {
            const std::string what = "scale " + std::to_string(scale);
            const auto step = [&] { optimizer.step(scale, comm); };
            refuses(comm, what, step, as_now({x, optimizer.masters()[0]}));
            refuses(comm, what, [&] { LossScaler{scale}; });
        }
        refuses(comm, "a window of 0 steps", [&] { LossScaler(1, 0); });
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
            scaler.update(!taken);
            three.update(taken);
            so_far += taken ? 't' : 's';
            INFO("LossScaler(8, 3), steps taken (t) and skipped (s): " << so_far);
            INFO("another one is told the contrary: do they share what each should have for itself?"
            );
            REQUIRE(three.scale() == scale);
        }
    });
}

TEST_CASE("LossScaler halves and doubles without an end") {
    on_ranks({1}, [](const Communicator&) {
        LossScaler small(1, 1);
        LossScaler large(1, 1);
        for (int step = 1; step <= 40; ++step) {
            small.update(false);
            large.update(true);
        }
        INFO("from 1, halved and doubled 40 times");
        CHECK(small.scale() == 0x1p-40);
        CHECK(large.scale() == 0x1p+40);
    });
}

TEST_CASE("mixed_precision takes ranks from the communicator it is given") {
    on_ranks({4}, [](const Communicator& comm) {
        const Communicator pair = comm.split(comm.rank() % 2, -comm.rank());
        const at::Tensor x = leaf({1});
        MixedPrecisionOptimizer optimizer({x}, kPlain);
        set_gradient(x, {comm.rank() == 2 ? kNan : 1});
        INFO("two groups; a gradient of one rank of the first is NaN");
        CHECK(optimizer.step(1, pair) == (comm.rank() % 2 == 1));
    });
}

TEST_CASE("mixed_precision is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        const at::Tensor x = leaf({1});
        MixedPrecisionOptimizer optimizer({x}, kPlain);
        for (int bad = 0; bad < comm.size(); ++bad) {
            set_gradient(x, {comm.rank() == bad ? kInfinity : 1});
            CHECK_FALSE(optimizer.step(1, comm));
        }
        set_gradient(x, {1});
        CHECK(optimizer.step(1, comm));
    });
}
