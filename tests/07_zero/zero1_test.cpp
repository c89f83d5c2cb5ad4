// What zero1 must do: train as if every rank had everything, and hold a p-th of the optimizer's state, to the byte.
#include "exercises/07_zero/zero1.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/07_zero/lived.hpp"
#include "tests/07_zero/memory.hpp"
#include "tests/07_zero/net.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/gone.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_reduce_scatter and ring_all_gather."
);

const auto make_zero1 =
    [](const Tensors& parameters, const nn::OptimizerOptions& options, const Communicator& comm) {
        return std::make_shared<Zero1>(parameters, options, comm);
    };

const Stage zero1 = trained_by(make_zero1);

}  // namespace

TEST_CASE("flatten_parameters lays parameters side by side, and fills the row up with zeros") {
    on_ranks({1}, [](const Communicator&) {
        for (const Shapes& shapes : kModels) {
            for (const int p : {1, 2, 3, 4, 64}) {
                const Tensors parameters = model(shapes);
                const std::size_t n = count(parameters);
                std::vector<float> expected = all_elements(parameters);
                const auto ranks = static_cast<std::size_t>(p);
                expected.resize((n + ranks - 1) / ranks * ranks);
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
        INFO(
            "parameters of 800000 bytes, a row of " << row.nbytes() << "; at most " << peak
                                                    << " bytes were held"
        );
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
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO("parameter " << i);
            CHECK(parameters[i].sizes() == kShapes[i]);
            CHECK(parameters[i].is_leaf());
            CHECK(parameters[i].requires_grad());
            CHECK(same_ones[i].data_ptr() == parameters[i].data_ptr());
        }
        row.fill_(7);
        for (const at::Tensor& parameter : same_ones) {
            const Comparison result =
                same(elements(parameter), std::vector<float>(count(parameter), 7.0F));
            INFO("what is written into the row is in the parameters");
            CHECK(result);
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

TEST_CASE("flatten_parameters takes any dtype and layout, and refuses two dtypes or no shard") {
    on_ranks({1}, [](const Communicator& comm) {
        const at::Tensor turned = filled({2, 3}, {1, 2, 3, 4, 5, 6}).t().to(at::kDouble);
        const at::Tensor row = flatten_parameters(std::vector{turned}, 4);
        CHECK(row.scalar_type() == at::kDouble);
        const Comparison result = same(
            elements(row.to(at::kFloat)), std::vector<float>{1, 4, 2, 5, 3, 6, 0, 0}, 0.0,
            {{{1, 2, 3, 4, 5, 6, 0, 0}, "that is the order in memory, not of the elements"}}
        );
        CHECK(result);
        const Tensors two = {at::ones({2}), at::ones({2}, at::kDouble)};
        refuses(
            comm, "two dtypes", [&] { flatten_parameters(two, 2); }, as_now(two)
        );
        const Tensors one = {turned};
        for (const int p : {0, -1, std::numeric_limits<int>::min()}) {
            const auto call = [&] { flatten_parameters(one, p); };
            refuses(comm, std::to_string(p) + " shards", call, as_now(one));
        }
    });
}

TEST_CASE("flatten_parameters keeps every bit, and what is frozen stays frozen") {
    on_ranks({1}, [](const Communicator&) {
        for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble, at::kLong}) {
            const std::vector<Resident> residents = zoo({dtype}, 0);
            const Tensors parameters = tensors_of(residents);
            Tensors before;
            for (const at::Tensor& parameter : parameters) {
                before.push_back(parameter.clone());
            }
            parameters[0].set_requires_grad(dtype != at::kLong);
            flatten_parameters(parameters, 3);
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                INFO(residents[i].name << ": a view of the row, with the same bits");
                CHECK(identical(parameters[i], before[i]));
                CHECK(parameters[i].requires_grad() == (i == 0 && dtype != at::kLong));
            }
        }
    });
}

TEST_CASE("zero1 trains as one process with the mean of all gradients, for any model") {
    trains_as_one_process(zero1);
}

TEST_CASE("20 steps give the bits that DDP gives") {
    gives_ddps_bits(zero1, {{2, 2}, {}, {}, {}, {}, {}, {}, {2}}, {{0, 1, 2, 3, 4, 5, 6, 7}});
    gives_ddps_bits(zero1, kShapes, {{0, 1, 2, 3, 4}});
    gives_ddps_losses(net_trained_by(make_zero1), {{0, 1, 2}});
}

TEST_CASE("gradients are divided by p before they are added up") {
    divides_before_the_sum(zero1);
}

TEST_CASE("a rank holds what memory_model says, to the byte, and peaks no higher") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            const MemoryBefore before;
            constexpr std::size_t kN = 100'003;
            Tensors parameters = {
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
                         {{row, "a row too many: is what they lay in before still there?"},
                          {4 * kN, "what they lay in before is still there"},
                          {row / p, "is the shard a copy beside its row?"}},
                     .gradients = {{4 * kN, "gradients beside their row"}},
                     .optimizer =
                         {{(p - 1) * states.optimizer,
                           "every rank keeps the optimizer's state of all"}},
                     .rest =
                         {{row, "a row too many"},
                          {row / p, "a shard too many"},
                          {4 * kN, "gradients, or what parameters lay in before"}}}
                );
            };
            INFO(name_of(options) << ", " << kN << " parameters, p = " << p);
            holds("when it is made", 0);
            for (int step = 0; step < 2; ++step) {
                optimizer.zero_grad();
                parameters[0].sum().backward();
                parameters[1].sum().backward();
                holds("after backward", step == 0 ? 0 : states.optimizer);
                forget_peak();
                optimizer.step();
                holds("after the step", states.optimizer);
                const std::size_t peak = before.peak_since(row / p);
                INFO(
                    "the optimizer's pieces take some 100 KB in a step; a shard has " << row / p
                                                                                      << " bytes"
                );
                CHECK(peak <= states.total() + 300'000);
            }
        }
    });
}

TEST_CASE("a step sends as much as one ring all-reduce, and no more") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const Shapes& shapes : kModels) {
            const Tensors parameters = model(shapes);
            Zero1 optimizer(parameters, kOptions[0], comm);
            const auto n = static_cast<int>(count(parameters));
            const long shard = (n + p - 1) / p;
            const Traffic traffic = record(comm, [&] {
                optimizer.zero_grad();
                backward(parameters, gradients(parameters, comm.rank(), 1));
                optimizer.step();
            });
            INFO(
                counted(n, "parameter")
                << ": 2(p-1) messages of a shard, " << counted(shard, "float")
            );
            CHECK(within(
                traffic, {.messages_sent = at_most(2L * (p - 1)),
                          .bytes_sent = exactly(2L * (p - 1) * float_bytes(shard)),
                          .among = neighbours(comm)}
            ));
        }
    });
}

TEST_CASE("gradients that were thrown away, or lie elsewhere, or are not there, are moved") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Tensors parameters = model({{2}, {3}});
        Zero1 optimizer(parameters, {.rate = 1}, comm);
        const std::vector<float> start = all_elements(parameters);
        const std::vector<const void*> places = {
            parameters[0].grad().data_ptr(), parameters[1].grad().data_ptr()};
        parameters[0].mutable_grad().fill_(9);
        parameters[1].mutable_grad().fill_(9);
        parameters[0].mutable_grad() = filled({2}, {4, -8});  // as where it was thrown away
        parameters[1].mutable_grad().reset();
        optimizer.step();
        INFO(
            "a step of rate 1: the first gradient is 4 and -8 in a tensor of its own, the second "
            "is none"
        );
        const Comparison result = same(
            all_elements(parameters),
            std::vector<float>{start[0] - 4, start[1] + 8, start[2], start[3], start[4]}, 0.0,
            {{{start[0] - 9, start[1] - 9, start[2] - 9, start[3] - 9, start[4] - 9},
              "stepped by what the row held before"}}
        );
        CHECK(result);
        for (std::size_t i = 0; i < 2; ++i) {
            const at::Tensor& gradient = parameters[i].grad();
            const bool lies_in_the_row = gradient.defined() && gradient.data_ptr() == places[i];
            INFO("after the step the gradient of parameter " << i << " lies in the row");
            CHECK(lies_in_the_row);
        }
    });
}

TEST_CASE("a gradient that lies in memory in another way is moved, element by element") {
    on_ranks({2, 4, 1}, [](const Communicator& comm) {
        const auto own = [](std::size_t i, int rank) {
            const auto which = (i + static_cast<std::size_t>(rank)) % std::size(kLayouts);
            return laid_out(filled({3, 4}, rank, i), kLayouts[which]);  // another way on each rank
        };
        const Tensors parameters = model({{3, 4}, {3, 4}, {3, 4}, {3, 4}});
        Zero1 optimizer(parameters, {.rate = 1}, comm);
        Tensors expected;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            expected.push_back(parameters[i].detach().clone());
            parameters[i].mutable_grad() = own(i, comm.rank());
            for (int rank = 0; rank < comm.size(); ++rank) {
                expected[i].sub_(own(i, rank).div(comm.size()));
            }
        }
        optimizer.step();
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO(
                "here the gradient of parameter "
                << i << " was "
                << name_of(
                       kLayouts[(i + static_cast<std::size_t>(comm.rank())) % std::size(kLayouts)]
                   )
            );
            CHECK(same(elements(parameters[i]), elements(expected[i])));
        }
    });
}

TEST_CASE("a rank without any gradient takes part in the step, and steps by the others'") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        for (int where = 0; where < comm.size(); ++where) {
            const Tensors parameters = model({{7}});
            Zero1 optimizer(parameters, {.rate = static_cast<double>(comm.size())}, comm);
            std::vector<float> expected = all_elements(parameters);
            std::ranges::for_each(expected, [](float& x) { x -= 4; });
            parameters[0].mutable_grad().reset();
            if (comm.rank() == where) {
                parameters[0].mutable_grad() = at::full({7}, 4, at::kFloat);
            }
            INFO("rank " << where << " alone has a gradient, 4; a step of rate p");
            optimizer.step();
            CHECK(same(all_elements(parameters), expected, 1e-6));
        }
    });
}

TEST_CASE("a message that fails comes out of step, and the next step is as always") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Tensors parameters = model(kShapes);
        Zero1 optimizer(parameters, kOptions[0], comm);
        const std::vector<float> before = all_elements(parameters);
        backward(parameters, gradients(parameters, comm.rank(), 7));
        {
            const FailingMessages failing;
            CHECK(answer(comm, [&] { optimizer.step(); }).what == kError);
        }
        INFO("all messages of a step failed");
        CHECK(same(all_elements(parameters), before));
        optimizer.zero_grad();
        backward(parameters, gradients(parameters, comm.rank(), 1));
        optimizer.step();
        INFO("then zero_grad, backward and another step");
        const Comparison result =
            as_trained(all_elements(parameters), kShapes, kOptions[0], 1, comm);
        CHECK(result);
    });
}

TEST_CASE("whatever backward throws, zero_grad makes a new beginning") {
    begins_anew_after_exceptions(make_zero1);
}

TEST_CASE("a step leaves autograd and the parameters' flags as they were, also if a message fails"
) {
    step_leaves_settings(make_zero1);
}

TEST_CASE("two objects of zero1 know nothing of each other") {
    two_trained_at_a_time("Zero1", make_zero1);
}

TEST_CASE("zero_grad, backward and step in any order are those of one process") {
    lives_as_one_process(Steps::once_after_backward, make_zero1);
}

TEST_CASE("zero_grad leaves zeros in their row, which backward adds to") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Tensors parameters = model({{2}, {3}});
        parameters[0].mutable_grad() = filled({2}, {5, 5});
        Zero1 optimizer(parameters, {.rate = 1}, comm);
        REQUIRE(parameters[0].grad().defined());
        REQUIRE(parameters[1].grad().defined());
        {
            INFO("a gradient of before is thrown away");
            CHECK(same(elements(parameters[0].grad()), std::vector<float>(2)));
        }
        const void* const place = parameters[1].grad().data_ptr();
        parameters[0].mutable_grad().reset();
        parameters[1].mutable_grad().fill_(std::numeric_limits<float>::quiet_NaN());
        optimizer.zero_grad();
        {
            INFO("a gradient was NaN");
            CHECK(same(elements(parameters[1].grad()), std::vector<float>(3)));
        }
        parameters[0].mutable_grad().reset();
        parameters[1].mutable_grad() = filled({3}, {1, 2, 3});
        optimizer.zero_grad();
        REQUIRE(parameters[0].grad().defined());
        CHECK(
            same(all_elements({parameters[0].grad(), parameters[1].grad()}), std::vector<float>(5))
        );
        CHECK(parameters[1].grad().data_ptr() == place);
        parameters[1].sum().backward();
        CHECK(parameters[1].grad().data_ptr() == place);
    });
}

TEST_CASE("optimizer() has one parameter, this rank's shard, and takes another rate") {
    on_ranks({3, 2, 1}, [](const Communicator& comm) {
        const Tensors parameters = {filled({7}, {1, 2, 3, 4, 5, 6, 7}).requires_grad_()};
        Zero1 optimizer(parameters, {.rate = 1}, comm);
        const int p = comm.size();
        std::vector<float> all = {1, 2, 3, 4, 5, 6, 7, 0, 0};
        const auto shard = static_cast<std::size_t>((7 + p - 1) / p);
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

TEST_CASE("zero1 refuses what is no leaf in float32 that requires a gradient, or stands there twice"
) {
    refuses_other_parameters([](const Tensors& parameters, const Communicator& comm) {
        const Zero1 made(parameters, {}, comm);
    });
}

TEST_CASE("zero1 takes ranks from the communicator it is given") {
    works_in_groups(zero1);
}

TEST_CASE("zero1 is right on 11 ranks", "[many]") {
    trains_on_11_ranks(zero1);
}
