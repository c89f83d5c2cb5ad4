// What zero1 must do: train as if every rank had everything, and hold a p-th of the optimizer's state, to the byte.
#include "exercises/07_zero/zero1.hpp"

#include <ATen/ops/ones.h>
#include <vector>

#include "course/nn/memory.hpp"
#include "exercises/07_zero/memory_model.hpp"
#include "tests/07_zero/models.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/cost.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_reduce_scatter and ring_all_gather."
);

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
                INFO(n << " elements, " << p << " shards");
                REQUIRE(row.dim() == 1);
                const Comparison result = same(elements(row), expected);
                CHECK(result);
            }
        }
    });
}

TEST_CASE("parameters become views of the row, and stay the leaves that they were") {
    on_ranks({1}, [](const Communicator&) {
        const Tensors parameters = model(kShapes);
        const Tensors same_ones = parameters;  // as a layer holds them
        const at::Tensor row = flatten_parameters(parameters, 2);
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
        const void* const place = two[0].data_ptr();
        INFO("std::invalid_argument, and nothing changed");
        CHECK(answer(comm, [&] { flatten_parameters(two, 2); }).what == kInvalidArgument);
        CHECK(answer(comm, [&] {
                  flatten_parameters(std::vector{turned}, 0);
              }).what == kInvalidArgument);
        CHECK(two[0].data_ptr() == place);
    });
}

TEST_CASE("zero1 trains as one process with the mean of all gradients, for any model") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        for (const Shapes& shapes : kModels) {
            for (const nn::OptimizerOptions& options : kOptions) {
                const Tensors parameters = model(shapes);
                Zero1 optimizer(parameters, options, comm);
                for (int step = 1; step <= 3; ++step) {
                    optimizer.zero_grad();
                    add_gradients(parameters, comm.rank(), step);
                    optimizer.step();
                    INFO(
                        name_of(options) << ", " << count(parameters) << " elements, step " << step
                    );
                    const Comparison result = as_trained(parameters, shapes, options, step, comm);
                    REQUIRE(result);
                    const Comparison alike = same_on_all_ranks(all_elements(parameters), comm);
                    CHECK(alike);
                }
            }
        }
    });
}

TEST_CASE("20 steps give the bits that DDP gives") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        // 12 elements, so that the shards are the chunks of DDP's one bucket: sums have one order
        const Shapes shapes = {{2, 2}, {}, {}, {}, {}, {}, {}, {2}};
        for (const nn::OptimizerOptions& options : kOptions) {
            const Tensors mine = model(shapes);
            Zero1 zero(mine, options, comm);
            const Tensors whole = model(shapes);
            nn::Optimizer all(options, whole);
            for (int step = 1; step <= 20; ++step) {
                zero.zero_grad();
                add_gradients(mine, comm.rank(), step, 7);
                set_to_ddps_mean(whole, step, 7, comm);
                zero.step();
                all.step();
            }
            INFO(name_of(options) << ": divided by p before the sum, and added up around the ring");
            const Comparison result = same(all_elements(mine), all_elements(whole));
            CHECK(result);
        }
    });
}

TEST_CASE("gradients are divided by p before they are added up") {
    on_ranks({2, 4}, [](const Communicator& comm) {
        const Tensors parameters = {at::ones({1}).requires_grad_()};
        Zero1 optimizer(parameters, {.rate = 0x1p-120}, comm);
        parameters[0].mutable_grad().fill_(0x1p+127);
        optimizer.step();
        INFO("every rank's gradient is 2^127, and no float holds twice as much");
        const Comparison result = same(elements(parameters[0]), std::vector<float>{1 - 128});
        CHECK(result);
    });
}

TEST_CASE("a rank holds what memory_model says, to the byte, and peaks no higher") {
    nn::count_memory();
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            const std::size_t begin = nn::held_memory().total();
            const std::int64_t n = 100'003;
            Tensors parameters = {
                at::ones({n - 7}).requires_grad_(), at::ones({7}).requires_grad_()};
            Zero1 optimizer(parameters, options, comm);
            const auto adam = options.kind == Kind::adamw;
            const ModelStates states = memory_model(
                static_cast<std::size_t>(n), comm.size(), ZeroStage::optimizer, Precision::fp32,
                adam ? OptimizerKind::adam : OptimizerKind::momentum
            );
            const std::size_t row = states.parameters;
            const std::size_t kept = states.optimizer * static_cast<std::size_t>(comm.size());
            const auto holds = [&](std::size_t expected) {
                return same_bytes(
                    nn::held_memory().total() - begin, expected, {},
                    {{kept - states.optimizer, "every rank keeps the optimizer's state of all"},
                     {row,
                      "a row too many: do parameters and gradients lie in theirs, and nowhere "
                      "else?"},
                     {4 * static_cast<std::size_t>(n),
                      "the parameters' old memory, or gradients beside their row, are still there"},
                     {row / static_cast<std::size_t>(comm.size()), "a shard too many"}}
                );
            };
            INFO(name_of(options) << ", " << n << " parameters, p = " << comm.size());
            {
                INFO("when it is made: two rows");
                const Comparison result = holds(2 * row);
                CHECK(result);
            }
            for (int step = 0; step < 2; ++step) {
                optimizer.zero_grad();
                parameters[0].sum().backward();
                parameters[1].sum().backward();
                INFO("step " << step << ": two rows, and what is kept of the shard");
                const Comparison before = holds(2 * row + (step == 0 ? 0 : states.optimizer));
                CHECK(before);
                nn::forget_peak_memory();
                optimizer.step();
                const Comparison after = holds(states.total());
                CHECK(after);
                const std::size_t peak = nn::peak_memory().total() - begin;
                INFO(
                    "the optimizer's pieces take some 100 KB in a step; a shard has "
                    << row / static_cast<std::size_t>(comm.size()) << " bytes"
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
                add_gradients(parameters, comm.rank(), 1);
                optimizer.step();
            });
            INFO(n << " parameters: 2(p-1) messages of a shard, " << shard << " floats");
            const Comparison spent = within(
                traffic, {.messages_sent = at_most(2L * (p - 1)),
                          .bytes_sent = exactly(2L * (p - 1) * float_bytes(shard)),
                          .among = neighbours(comm)}
            );
            CHECK(spent);
        }
    });
}

TEST_CASE("gradients that were thrown away, or lie elsewhere, or are not there, are moved") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Tensors parameters = model({{2}, {3}});
        Zero1 optimizer(parameters, {.rate = 1}, comm);
        const std::vector<float> start = all_elements(parameters);
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
    });
}

TEST_CASE("zero_grad leaves zeros in their row, which backward adds to") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Tensors parameters = model({{2}, {3}});
        Zero1 optimizer(parameters, {.rate = 1}, comm);
        REQUIRE(parameters[1].grad().defined());
        const void* const place = parameters[1].grad().data_ptr();
        parameters[0].mutable_grad().reset();
        parameters[1].mutable_grad() = filled({3}, {1, 2, 3});
        optimizer.zero_grad();
        REQUIRE(parameters[0].grad().defined());
        const Comparison result =
            same(all_elements({parameters[0].grad(), parameters[1].grad()}), std::vector<float>(5));
        CHECK(result);
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
        const Comparison mine = same(
            elements(optimizer.optimizer().parameters()[0]), std::span(all).subspan(begin, shard)
        );
        CHECK(mine);
        optimizer.optimizer().set_rate(0.5);
        parameters[0].mutable_grad().fill_(2);
        optimizer.step();
        const Comparison result =
            same(elements(parameters[0]), std::vector<float>{0, 1, 2, 3, 4, 5, 6});
        CHECK(result);
    });
}

TEST_CASE("zero1 refuses what is no leaf in float32 that requires a gradient, or stands there twice"
) {
    on_ranks({2}, [](const Communicator& comm) {
        const auto refused = [&](const Tensors& parameters) {
            const void* const place = parameters[0].data_ptr();
            const Answer got = answer(comm, [&] { const Zero1 made(parameters, {}, comm); });
            CHECK(got.what == kInvalidArgument);
            INFO("nothing is changed, and no message is sent");
            CHECK(parameters[0].data_ptr() == place);
            CHECK(got.traffic.messages_sent == 0);
        };
        const at::Tensor good = at::ones({2}).requires_grad_();
        {
            INFO("a parameter that is frozen");
            refused({good, at::ones({2})});
        }
        {
            INFO("no leaf");
            refused({good, good.mul(2)});
        }
        {
            INFO("double");
            refused({good, at::ones({2}, at::kDouble).requires_grad_()});
        }
        {
            INFO("tied weights: one tensor twice");
            refused({good, at::ones({3}).requires_grad_(), good});
        }
    });
}

TEST_CASE("zero1 takes ranks from the communicator it is given") {
    on_ranks({4}, [](const Communicator& comm) {
        const Communicator pair = comm.split(comm.rank() % 2, -comm.rank());
        const Tensors parameters = model(kShapes);
        Zero1 optimizer(parameters, kOptions[0], pair);
        add_gradients(parameters, pair.rank(), 1);
        optimizer.step();
        INFO("two groups of two, numbered backwards");
        const Comparison result = as_trained(parameters, kShapes, kOptions[0], 1, pair);
        CHECK(result);
    });
}

TEST_CASE("zero1 is right on 11 ranks", "[many]") {
    on_ranks({11}, [](const Communicator& comm) {
        for (const Shapes& shapes : kModels) {
            const Tensors parameters = model(shapes);
            Zero1 optimizer(parameters, kOptions[1], comm);
            for (int step = 1; step <= 2; ++step) {
                optimizer.zero_grad();
                add_gradients(parameters, comm.rank(), step);
                optimizer.step();
            }
            const Comparison result = as_trained(parameters, shapes, kOptions[1], 2, comm);
            CHECK(result);
        }
    });
}
