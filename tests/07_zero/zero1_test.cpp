// What zero1 must do: what every stage must (stage_promises.hpp), and hold a p-th of the optimizer's state, to the byte.
#include "exercises/07_zero/zero1.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/07_zero/memory.hpp"
#include "tests/07_zero/stages.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/gone.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_reduce_scatter and ring_all_gather."
);

Training zero1(
    const Tensors& parameters, const nn::OptimizerOptions& options, const Communicator& comm
) {
    Training training = training_of(parameters, std::make_shared<Zero1>(parameters, options, comm));
    training.steps_at_any_time = false;
    return training;
}

}  // namespace

TEST_CASE("flatten_parameters lays parameters side by side, and fills the row up with zeros") {
    on_ranks({1}, [](const Communicator&) {
        for (const Shapes& shapes : kModels) {
            for (const int p : {1, 2, 3, 4, 64}) {
                const Tensors parameters = model(shapes);
                const std::size_t n = count(parameters);
                std::vector<float> expected = all_elements(parameters);
                expected.resize(static_cast<std::size_t>(ceil_div(n, p) * p));
                const at::Tensor row = flatten_parameters(parameters, p);
                INFO(counted(n, "element") << ", " << counted(p, "shard"));
                REQUIRE(row.dim() == 1);
                CHECK(same(elements(row), expected));
            }
        }
    });
}

TEST_CASE("flatten_parameters takes memory for one row, and for nothing besides") {
    on_ranks({1}, [](const Communicator&) {
        const MemoryBefore before;
        const Tensors parameters = {at::ones({100'000}), at::ones({50'000, 2})};
        forget_peak();
        const at::Tensor row = flatten_parameters(parameters, 3);
        const std::size_t peak = before.peak_since();
        INFO("parameters of 800000 bytes, a row of " << row.nbytes() << "; at most " << peak);
        CHECK(peak <= 800'000 + row.nbytes() + 1000);
    });
}

TEST_CASE("parameters become views of the row, and stay the leaves that they were") {
    on_ranks({1}, [](const Communicator&) {
        const Tensors parameters = model(kShapes);
        const Tensors same_ones = parameters;  // as a layer holds them
        const WatchedMemory before(parameters[0]);
        const at::Tensor row = flatten_parameters(parameters, 2);
        {
            INFO("the memory in which a parameter lay before is freed");
            CHECK(before.is_gone());
        }
        CHECK_FALSE(row.requires_grad());
        row.fill_(7);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO("parameter " << i);
            CHECK(same_ones[i].sizes() == kShapes[i]);
            CHECK(same_ones[i].is_leaf());
            CHECK(same_ones[i].requires_grad());
            INFO("what is written into the row is in the parameters");
            CHECK(same(elements(same_ones[i]), std::vector<float>(count(same_ones[i]), 7.0F)));
        }
    });
}

TEST_CASE("flatten_parameters keeps every bit, and what is frozen stays frozen") {
    on_ranks({1}, [](const Communicator&) {
        for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kLong}) {
            const Tensors parameters = tensors_of(zoo({dtype}, 0));
            parameters[0].set_requires_grad(dtype != at::kLong);
            flatten_parameters(parameters, 3);
            const std::vector<Resident> before = zoo({dtype}, 0);
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                INFO(before[i].name << ": a view of the row, with the same elements and bits");
                CHECK(identical(parameters[i], before[i].tensor));
                CHECK(parameters[i].requires_grad() == (i == 0 && dtype != at::kLong));
            }
        }
    });
}

TEST_CASE("flatten_parameters refuses two dtypes, and less than one shard") {
    on_ranks({1}, [](const Communicator& comm) {
        const Tensors two = {at::ones({2}), at::ones({2}, at::kDouble)};
        refuses(
            comm, "two dtypes", [&] { flatten_parameters(two, 2); }, as_now(two)
        );
        const Tensors one = {at::ones({2})};
        for (const int p : {0, -1}) {
            const auto call = [&] { flatten_parameters(one, p); };
            refuses(comm, std::to_string(p) + " shards", call, as_now(one));
        }
    });
}

TEST_CASE("views_of and shard_of are parts of the row, with each tensor's shape") {
    on_ranks({3}, [](const Communicator& comm) {
        const at::Tensor row = filled({12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
        const Tensors like = {at::ones({2, 3}), at::ones({0}), at::ones({}), at::ones({1, 2})};
        const Tensors views = views_of(row, like);
        REQUIRE(views.size() == like.size());
        for (std::size_t i = 0; i < like.size(); ++i) {
            INFO("view " << i);
            CHECK(views[i].sizes() == like[i].sizes());
            CHECK(views[i].is_alias_of(row));
        }
        CHECK(same(all_elements(views), std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
        const auto begin = static_cast<float>(4 * comm.rank());
        const at::Tensor shard = shard_of(row, comm);
        CHECK(shard.is_alias_of(row));
        CHECK(same(elements(shard), std::vector<float>{begin, begin + 1, begin + 2, begin + 3}));
    });
}

TEST_CASE("zero1 trains as one process with the mean of all gradients, for any model") {
    trains_as_one_process(zero1);
}

TEST_CASE("20 steps give the bits that DDP gives") {
    gives_ddps_bits(zero1, {{2, 2}, {}, {}, {}, {}, {}, {}, {2}}, {{0, 1, 2, 3, 4, 5, 6, 7}});
}

TEST_CASE("a rank holds what memory_model says, to the byte, and peaks no higher") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            const MemoryBefore before;
            constexpr std::size_t kN = 100'003;
            const Tensors parameters = {
                at::ones({kN - 7}).requires_grad_(), at::ones({7}).requires_grad_()};
            Zero1 optimizer(parameters, options, comm);
            const ModelStates states =
                sum_of_models({kN}, options, comm.size(), ZeroStage::optimizer);
            const std::size_t row = states.parameters;
            const std::size_t p = static_cast<std::size_t>(comm.size());
            const auto holds = [&](const char* moment, std::size_t kept) {
                check_memory(
                    moment, held_now(parameters, optimizer.optimizer(), before),
                    {.parameters = row, .gradients = row, .optimizer = kept},
                    {.parameters =
                         {{4 * kN, "what they lay in before is still there"},
                          {row / p, "is the shard a copy beside its row?"}},
                     .gradients = {{4 * kN, "gradients beside their row"}},
                     .optimizer =
                         {{(p - 1) * states.optimizer,
                           "every rank keeps the optimizer's state of all"}},
                     .rest =
                         {{row / p, "a shard too many"},
                          {4 * kN, "gradients, or what parameters lay in before"}}}
                );
            };
            INFO(name_of(options) << ", " << kN << " parameters, p = " << p);
            holds("when it is made", 0);
            for (int step = 0; step < 2; ++step) {
                optimizer.zero_grad();
                backward(parameters[0].sum().add(parameters[1].sum()));
                holds("after backward", step == 0 ? 0 : states.optimizer);
                forget_peak();
                optimizer.step();
                holds("after the step", states.optimizer);
                INFO("the optimizer's pieces take some 100 KB in a step");
                CHECK(before.peak_since(row / p) <= states.total() + 300'000);
            }
        }
    });
}

TEST_CASE("a step sends as much as one ring all-reduce, and no more") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const Shapes& shapes : kModels) {
            const Training training = zero1(model(shapes), kOptions[0], comm);
            const std::size_t n = count(model(shapes));
            const long shard = ceil_div(n, p);
            const Tensors own = gradients(model(shapes), comm.rank(), 1);
            const Traffic traffic = record(comm, [&] { training.steps_by(own); });
            INFO(counted(n, "parameter") << ": 2(p-1) messages of a shard, " << shard);
            CHECK(within(
                traffic, {.messages_sent = at_most(2L * (p - 1)),
                          .bytes_sent = exactly(2L * (p - 1) * float_bytes(shard)),
                          .among = neighbours(comm)}
            ));
        }
    });
}

TEST_CASE("gradients that were thrown away, or lie elsewhere, in any layout, are moved into the row"
) {
    on_ranks({2, 4, 1}, [](const Communicator& comm) {
        // each rank lacks another gradient, and has the others in other layouts
        const auto kind = [](std::size_t i, int rank) {
            return (i + static_cast<std::size_t>(rank)) % (std::size(kLayouts) + 1);
        };
        const auto own = [&](std::size_t i, int rank) {
            const std::size_t k = kind(i, rank);
            const at::Tensor values = filled({3, 4}, rank, i);
            return k < std::size(kLayouts) ? laid_out(values, kLayouts[k]) : at::Tensor();
        };
        const Tensors parameters = model(Shapes(5, {3, 4}));
        Zero1 optimizer(parameters, {.rate = 1}, comm);
        Tensors expected;
        Tensors stale;
        std::vector<const void*> places;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            places.push_back(parameters[i].grad().data_ptr());
            parameters[i].mutable_grad().fill_(9);
            parameters[i].mutable_grad() = own(i, comm.rank());
            at::Tensor sum = at::zeros({3, 4});
            at::Tensor of_before = at::zeros({3, 4});
            for (int rank = 0; rank < comm.size(); ++rank) {
                const at::Tensor gradient = own(i, rank);
                gradient.defined() ? sum.add_(gradient) : of_before.add_(9);
            }
            expected.push_back(parameters[i].detach().sub(sum.div(comm.size())));
            stale.push_back(expected[i].sub(of_before.div(comm.size())));
        }
        optimizer.step();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const std::size_t k = kind(i, comm.rank());
            INFO(
                "here the gradient of parameter "
                << i << " was " << (k < std::size(kLayouts) ? name_of(kLayouts[k]) : "not there")
            );
            CHECK(same(
                elements(parameters[i]), elements(expected[i]), 0.0,
                {{elements(stale[i]), "stepped by what the row held before"}}
            ));
            const at::Tensor& gradient = parameters[i].grad();
            const bool lies_in_the_row = gradient.defined() && gradient.data_ptr() == places[i];
            INFO("after the step it lies in the row");
            CHECK(lies_in_the_row);
        }
    });
}

TEST_CASE("a rank without any gradient takes part in the step, and steps by the others'") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        for (int where = 0; where < comm.size(); ++where) {
            const Tensors parameters = zeros({{7}});
            Zero1 optimizer(parameters, {.rate = -static_cast<double>(comm.size())}, comm);
            parameters[0].mutable_grad().reset();
            if (comm.rank() == where) {
                parameters[0].mutable_grad() = at::full({7}, 4, at::kFloat);
            }
            INFO("rank " << where << " alone has a gradient, 4; a step of rate -p from 0");
            optimizer.step();
            CHECK(same(elements(parameters[0]), std::vector<float>(7, 4), 1e-6));
        }
    });
}

TEST_CASE("a message that fails comes out of step, and the next step is as always") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Training training = zero1(model(kShapes), kOptions[0], comm);
        const std::vector<float> before = training.weights();
        training.loss(gradients(model(kShapes), comm.rank(), 7)).backward();
        {
            const FailingMessages failing;
            CHECK(answer(comm, [&] { training.step(); }).what == kError);
        }
        INFO("all messages of a step failed");
        CHECK(same(training.weights(), before));
        training.steps_by(gradients(model(kShapes), comm.rank(), 1));
        INFO("then zero_grad, backward and another step");
        CHECK(as_trained(training.weights(), kShapes, kOptions[0], 1, comm));
    });
}

TEST_CASE("whatever backward throws, zero_grad makes a new beginning") {
    begins_anew_after_exceptions(zero1);
}

TEST_CASE("zero_grad leaves zeros in their row, which backward adds to") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Tensors x = model({{2}, {3}});
        x[0].mutable_grad() = filled({2}, {5, 5});
        Zero1 optimizer(x, {.rate = 1}, comm);
        REQUIRE(x[0].grad().defined());
        REQUIRE(x[1].grad().defined());
        {
            INFO("a gradient of before is thrown away");
            CHECK(same(elements(x[0].grad()), std::vector<float>(2)));
        }
        const void* const place = x[1].grad().data_ptr();
        x[0].mutable_grad().reset();
        x[1].mutable_grad().fill_(std::numeric_limits<float>::quiet_NaN());
        optimizer.zero_grad();
        {
            INFO("a gradient was NaN");
            CHECK(same(elements(x[1].grad()), std::vector<float>(3)));
        }
        x[1].mutable_grad() = filled({3}, {1, 2, 3});
        optimizer.zero_grad();
        CHECK(same(all_elements({x[0].grad(), x[1].grad()}), std::vector<float>(5)));
        CHECK(x[1].grad().data_ptr() == place);
        x[1].sum().backward();
        CHECK(x[1].grad().data_ptr() == place);
    });
}

TEST_CASE("optimizer() has one parameter, this rank's shard, and takes another rate") {
    on_ranks({3, 2, 1}, [](const Communicator& comm) {
        const Tensors parameters = {filled({7}, {1, 2, 3, 4, 5, 6, 7}).requires_grad_()};
        Zero1 optimizer(parameters, {.rate = 1}, comm);
        const std::vector<float> all = {1, 2, 3, 4, 5, 6, 7, 0, 0};
        const auto shard = static_cast<std::size_t>(ceil_div(7, comm.size()));
        const auto begin = static_cast<std::size_t>(comm.rank()) * shard;
        REQUIRE(optimizer.optimizer().parameters().size() == 1);
        CHECK(same(
            elements(optimizer.optimizer().parameters()[0]), std::span(all).subspan(begin, shard)
        ));
        optimizer.optimizer().set_rate(0.5);
        parameters[0].mutable_grad().fill_(2);
        optimizer.step();
        CHECK(same(elements(parameters[0]), std::vector<float>{0, 1, 2, 3, 4, 5, 6}));
    });
}

Stage dist::harness::stage_to_try() {
    return zero1;
}

// Last: where the weights are wrong, the tests above say which.
#include "tests/07_zero/stage_promises.hpp"
