// What zero2 must do: what every stage must (stage_promises.hpp), with gradients that meet in backward, and of which a p-th is
// kept, to the byte.
#include "exercises/07_zero/zero2.hpp"

#include <ATen/ops/ones.h>
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "course/nn/gradient_hook.hpp"
#include "tests/07_zero/memory.hpp"
#include "tests/07_zero/stages.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_reduce_scatter and ring_all_gather."
);

using Limits = std::vector<std::size_t>;
using Order = std::vector<std::size_t>;

/// Buckets are full at this limit.
Stage zero2(std::size_t limit) {
    return [=](const Tensors& parameters, const nn::OptimizerOptions& options,
               const Communicator& comm) {
        return training_of(
            parameters, std::make_shared<Zero2>(parameters, Limits{limit}, options, comm)
        );
    };
}

}  // namespace

TEST_CASE("zero2 trains as one process with the mean of all gradients, for any model and limit") {
    for (const std::size_t limit : Limits{1, 40, 1000}) {
        trains_as_one_process(zero2(limit));
    }
}

TEST_CASE("20 steps give the bits that DDP gives with the same buckets") {
    gives_ddps_bits(
        zero2(48), {{2, 6}, {3, 4}, {24}, {}, {}, {}, {}, {}, {}, {}, {}, {4}},
        {{11, 10, 9, 8, 7, 6, 5, 4, 3}, {2}, {1}, {0}}
    );
}

TEST_CASE("buckets are those of gradient_buckets, of the model's order backwards") {
    on_ranks({1}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{1}, {2}, {3}, {4}});
        const Zero2 optimizer(parameters, Limits{4 * sizeof(float), 5 * sizeof(float)}, {}, comm);
        CHECK(optimizer.buckets() == std::vector<Bucket>{{3}, {2, 1}, {0}});
    });
}

TEST_CASE("a bucket meets when it is full: afterwards a rank has its shard alone") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{12}, {12}, {6}, {6}});
        Zero2 optimizer(parameters, Limits{48}, {}, comm);  // buckets {3, 2}, {1} and {0}
        const Tensors& shards = optimizer.optimizer().parameters();
        std::vector<long> there;
        std::vector<nn::GradientHook> hooks;  // after the optimizer's own
        for (const at::Tensor& parameter : parameters) {
            hooks.emplace_back(parameter, [&] {
                there.push_back(std::ranges::count_if(shards, [](const at::Tensor& shard) {
                    return shard.grad().defined();
                }));
            });
        }
        loss_in_order(parameters, {3, 2, 1, 0}, {8, 8, 8, 8}).backward();
        optimizer.zero_grad();
        there.clear();
        loss_in_order(parameters, {3, 2, 1, 0}, {1, 2, 3, 4}).backward();
        INFO(
            "in the second backward gradients come as 3, 2, 1, 0, and 3 and 2 are a bucket: how "
            "many shards are there after each?"
        );
        CHECK(there == std::vector<long>{0, 1, 2, 3});
        for (const at::Tensor& parameter : parameters) {
            INFO("the gradient of a parameter is given back when it is in its row");
            CHECK_FALSE(parameter.grad().defined());
        }
        const std::vector<float> row = {4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3};
        const std::size_t length = row.size() / static_cast<std::size_t>(comm.size());
        const std::size_t begin = static_cast<std::size_t>(comm.rank()) * length;
        CHECK(same(elements(shards[0].grad()), std::span(row).subspan(begin, length), 1e-6));
    });
}

TEST_CASE("buckets meet in one order, in whatever order gradients come on each rank") {
    on_ranks({3, 2, 4}, [](const Communicator& comm) {
        const Shapes shapes = {{1}, {2}, {3}, {4}, {5}};
        const Tensors parameters = zeros(shapes);
        Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
        Order order(shapes.size());
        std::iota(order.begin(), order.end(), 0);
        std::rotate(order.begin(), order.begin() + comm.rank(), order.end());
        const std::vector<float> own = input(shapes.size(), comm.rank(), 1);
        const std::vector<float> mean =
            reduced_input(shapes.size(), comm.size(), ReduceOp::mean, 1);
        INFO("a bucket for each parameter; rank r's gradients come as r, r + 1, ...");
        loss_in_order(parameters, order, own).backward();
        optimizer.step();
        std::vector<float> expected;
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            expected.insert(expected.end(), i + 1, mean[i]);
        }
        CHECK(same(all_elements(parameters), expected, 1e-5));
    });
}

TEST_CASE("a gradient that does not come counts as zeros, on one rank and on all") {
    on_ranks({3, 2, 4, 1}, [](const Communicator& comm) {
        const auto p = static_cast<float>(comm.size());
        const Tensors parameters = zeros({{1}, {2}, {3}, {4}, {5}});
        Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
        Order order;
        std::vector<float> expected;
        for (int i = 0; i < 5; ++i) {
            if (i != 4 && i != comm.rank()) {
                order.push_back(static_cast<std::size_t>(i));
            }
            const float brought = i == 4 ? 0 : i < comm.size() ? p - 1 : p;
            expected.insert(expected.end(), static_cast<std::size_t>(i) + 1, brought);
        }
        INFO("a bucket for each parameter; rank r brings p for all but r and the last one");
        loss_in_order(parameters, order, {p, p, p, p, p}).backward();
        optimizer.step();
        CHECK(same(all_elements(parameters), expected, 1e-6));
    });
}

TEST_CASE("a parameter may be used twice") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{2}, {3}});
        Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
        INFO("the second one before and after the first");
        loss_in_order(parameters, {1, 0, 1}, {1, 1}).backward();
        optimizer.step();
        CHECK(same(all_elements(parameters), std::vector<float>{1, 1, 2, 2, 2}, 1e-6));
    });
}

TEST_CASE("whatever backward throws, zero_grad makes a new beginning") {
    begins_anew_after_exceptions(zero2(1));
    begins_anew_after_exceptions(zero2(1000));
}

TEST_CASE("after backward no parameter has a gradient, also where somebody gave it one") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{2}, {3}});
        Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
        parameters[1].mutable_grad() = filled({3}, {5, 5, 5});
        loss_in_order(parameters, {0}, {1, 1}).backward();
        for (const at::Tensor& parameter : parameters) {
            CHECK_FALSE(parameter.grad().defined());
        }
        optimizer.step();
        INFO("backward brought 1 for the first parameter; the second one's 5 is not from backward");
        CHECK(same(all_elements(parameters), std::vector<float>{1, 1, 0, 0, 0}));
    });
}

TEST_CASE("two objects of zero2 know nothing of each other, also in one backward") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Tensors first = zeros({{2}, {3}});
        const Tensors second = zeros({{2}, {3}});
        Zero2 one(first, Limits{1}, {.rate = -1}, comm);
        Zero2 other(second, Limits{1}, {.rate = -1}, comm);
        INFO("one loss of both; of each the second parameter brings no gradient");
        const at::Tensor loss = loss_in_order(first, {0}, {1, 1});
        loss.add(loss_in_order(second, {0}, {2, 2})).backward();
        one.step();
        other.step();
        CHECK(same(all_elements(first), std::vector<float>{1, 1, 0, 0, 0}, 1e-6));
        CHECK(same(all_elements(second), std::vector<float>{2, 2, 0, 0, 0}, 1e-6));
    });
}

TEST_CASE("a rank holds what memory_model says, to the byte, and one bucket more at most") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            const MemoryBefore before;
            const std::vector<std::size_t> lengths = {100'003, 7, 100'000, 50'001};
            Tensors parameters;
            for (const std::size_t n : lengths) {
                parameters.push_back(at::ones({static_cast<std::int64_t>(n)}).requires_grad_());
            }
            Zero2 optimizer(parameters, Limits{400'000}, options, comm);
            // buckets {3, 2}, {1, 0}
            const ModelStates states =
                sum_of_models({150'001, 100'010}, options, comm.size(), ZeroStage::gradients);
            const std::size_t p = static_cast<std::size_t>(comm.size());
            const auto holds = [&](const char* moment, std::size_t gradients, std::size_t kept) {
                check_memory(
                    moment, held_now(parameters, optimizer.optimizer(), before),
                    {.parameters = states.parameters, .gradients = gradients, .optimizer = kept},
                    {.gradients =
                         {{states.parameters - gradients,
                           "whole rows are there, and not shards alone"}},
                     .rest = {{states.parameters, "all rows of gradients are still there"}}}
                );
            };
            INFO(name_of(options) << ", buckets of 150001 and 100010 parameters, p = " << p);
            holds("when it is made", 0, 0);
            for (int step = 0; step < 2; ++step) {
                optimizer.zero_grad();
                at::Tensor loss = loss_in_order(parameters, {3, 2, 1, 0}, {1, 1, 1, 1});
                const std::size_t kept = step == 0 ? 0 : states.optimizer;
                forget_peak();
                loss.backward();
                loss.reset();
                const std::size_t peak = before.peak_since(4 * 150'004 / p);
                holds("after backward", states.gradients, kept);
                const std::size_t most = states.parameters + states.gradients + kept +
                                         4 * 150'004 /* a row */ + 4 * 100'003 /* one gradient */;
                INFO(
                    "in backward: " << peak << " bytes; what stays, a row and a gradient are "
                                    << most
                );
                CHECK(peak <= most + 1000);
                optimizer.step();
                holds("after the step", states.gradients, states.optimizer);
            }
        }
    });
}

TEST_CASE("backward sends a reduce-scatter of each bucket, and a step an all-gather") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        const Tensors parameters = model({{7}, {12}, {3}, {20}});
        Zero2 optimizer(parameters, Limits{40}, kOptions[0], comm);
        const long shards = ceil_div(20, p) + ceil_div(15, p) + ceil_div(7, p);
        const Tensors own = gradients(parameters, comm.rank(), 1);
        const auto cost = Cost{
            .messages_sent = at_most(3L * (p - 1)),
            .bytes_sent = exactly((p - 1) * float_bytes(static_cast<std::size_t>(shards))),
            .among = neighbours(comm)};
        for (int step = 0; step < 2; ++step) {
            optimizer.zero_grad();
            const Traffic in_backward = record(comm, [&] { loss_of(parameters, own).backward(); });
            const Traffic in_step = record(comm, [&] { optimizer.step(); });
            INFO("buckets of 20, 15 and 7: p-1 messages of a shard of each");
            CHECK(within(in_backward, cost));
            CHECK(within(in_step, cost));
        }
    });
}

TEST_CASE("a message that fails comes out of backward and of step") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        for (const bool all : {true, false}) {
            const Tensors parameters = zeros({{6}, {2}});
            Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
            const auto run = [&] {
                loss_in_order(parameters, all ? Order{1, 0} : Order{0}, {2, 2}).backward();
            };
            INFO(
                (all ? "all gradients come"
                     : "parameter 1 has no gradient: all buckets meet at the end of backward")
            );
            {
                const FailingMessages failing;
                CHECK(answer(comm, run).what == kError);
                CHECK(answer(comm, [&] { optimizer.step(); }).what == kError);
            }
            optimizer.zero_grad();
            run();
            optimizer.step();
            std::vector<float> expected(6, 2);
            expected.resize(8, all ? 2.0F : 0.0F);
            INFO("then zero_grad, a backward that brings 2, and a step of rate -1");
            CHECK(same(all_elements(parameters), expected, 1e-6));
        }
    });
}

TEST_CASE("backward leaves parameters alone when zero2 is gone") {
    on_ranks({1, 2}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{2}});
        parameters[0].mutable_grad() = at::ones({2});
        at::Tensor loss;
        {
            const Zero2 optimizer(parameters, Limits{1}, {}, comm);
            INFO("gradients of before are thrown away");
            CHECK_FALSE(parameters[0].grad().defined());
            loss = parameters[0].sum();
        }
        INFO("the loss was computed before it was gone");
        const Traffic traffic = record(comm, [&] { loss.backward(); });
        CHECK(traffic.messages_sent == 0);
        CHECK(parameters[0].grad().defined());
    });
}

TEST_CASE("optimizer() has a shard of each bucket, and takes another rate") {
    on_ranks({3, 2, 1}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{5}, {7}});
        Zero2 optimizer(parameters, Limits{1}, {.rate = 1}, comm);
        REQUIRE(optimizer.optimizer().parameters().size() == 2);
        CHECK(optimizer.optimizer().parameters()[0].numel() == ceil_div(7, comm.size()));
        CHECK(optimizer.optimizer().parameters()[1].numel() == ceil_div(5, comm.size()));
        optimizer.optimizer().set_rate(-0.5);
        loss_in_order(parameters, {1, 0}, {2, 4}).backward();
        optimizer.step();
        CHECK(same(
            all_elements(parameters), std::vector<float>{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2}, 1e-6
        ));
    });
}

TEST_CASE("zero2 refuses limits that gradient_buckets refuses") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Tensors parameters = model({{2, 3}, {4}});
        parameters[0].mutable_grad() = at::ones({2, 3});
        const auto call = [&] { const Zero2 made(parameters, Limits{4, 0}, {}, comm); };
        refuses(comm, "a limit of 0 bytes", call, as_now(parameters));
    });
}

Stage dist::harness::stage_to_try() {
    return zero2(1);
}

// Last: where the weights are wrong, the tests above say which.
#include "tests/07_zero/stage_promises.hpp"
