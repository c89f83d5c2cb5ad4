// What zero2 must do: train as zero1, with gradients that meet in backward, and of which a p-th is kept, to the byte.
#include "exercises/07_zero/zero2.hpp"

#include <ATen/ops/ones.h>
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "course/nn/gradient_hook.hpp"
#include "tests/07_zero/lived.hpp"
#include "tests/07_zero/memory.hpp"
#include "tests/07_zero/net.hpp"
#include "tests/harness/words/cost.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_reduce_scatter and ring_all_gather."
);

using Limits = std::vector<std::size_t>;
using Order = std::vector<std::size_t>;

/// Makes one whose buckets are full at this limit.
auto with_limit(std::size_t limit) {
    return
        [=](const Tensors& parameters, const nn::OptimizerOptions& options, const Communicator& comm
        ) { return std::make_shared<Zero2>(parameters, Limits{limit}, options, comm); };
}

Stage zero2(std::size_t limit) {
    return trained_by(with_limit(limit));
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
    gives_ddps_bits(zero2(48), kShapes, {{4, 3}, {2, 1, 0}});
    gives_ddps_losses(net_trained_by(with_limit(1)), {{2}, {1}, {0}});
}

TEST_CASE("gradients are divided by p before they are added up") {
    divides_before_the_sum(zero2(1));
}

TEST_CASE("buckets are those of gradient_buckets, of the model's order backwards") {
    on_ranks({1}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{1}, {2}, {3}, {4}});
        const Zero2 optimizer(parameters, Limits{4 * sizeof(float), 5 * sizeof(float)}, {}, comm);
        CHECK(optimizer.buckets() == std::vector<Bucket>{{3}, {2, 1}, {0}});
    });
}

TEST_CASE("a bucket meets when its last gradient is there: afterwards a rank has its shard alone") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const int p = comm.size();
        const Tensors parameters = zeros({{12}, {6}, {6}});
        Zero2 optimizer(parameters, Limits{48}, {}, comm);  // buckets {2, 1} and {0}
        const at::Tensor& shard = optimizer.optimizer().parameters()[0];
        std::vector<bool> there;
        const auto look = [&] { there.push_back(shard.grad().defined()); };
        std::vector<nn::GradientHook> hooks;  // after the optimizer's own
        std::ranges::for_each(parameters, [&](const at::Tensor& x) {
            hooks.emplace_back(x, look);
        });
        loss_in_order(parameters, {2, 1, 0}, {8, 8, 8}).backward();
        optimizer.zero_grad();
        there.clear();
        loss_in_order(parameters, {2, 1, 0}, {1, 2, 3}).backward();
        INFO(
            "in the second backward: gradients come as 2, 1, 0; 2 and 1 are a bucket: is its shard "
            "there after each?"
        );
        CHECK(there == std::vector<bool>{false, true, true});
        for (const at::Tensor& parameter : parameters) {
            INFO("the gradient of a parameter is given back when it is in its row");
            CHECK_FALSE(parameter.grad().defined());
        }
        const std::vector<float> row = {3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2};
        const std::size_t length = 12 / static_cast<std::size_t>(p);
        CHECK(same(
            elements(shard.grad()),
            std::span(row).subspan(static_cast<std::size_t>(comm.rank()) * length, length), 1e-6
        ));
    });
}

TEST_CASE("buckets meet one after the other, each when it is full") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{6}, {6}, {6}, {6}});
        Zero2 optimizer(parameters, Limits{1}, {}, comm);  // a bucket for each parameter
        std::vector<long> there;
        const auto look = [&] {
            const auto& shards = optimizer.optimizer().parameters();
            there.push_back(std::ranges::count_if(shards, [](const at::Tensor& shard) {
                return shard.grad().defined();
            }));
        };
        std::vector<nn::GradientHook> hooks;  // after the optimizer's own
        std::ranges::for_each(parameters, [&](const at::Tensor& x) {
            hooks.emplace_back(x, look);
        });
        loss_in_order(parameters, {3, 2, 1, 0}, {1, 2, 3, 4}).backward();
        INFO("gradients come in the order of the buckets: how many shards are there after each?");
        CHECK(there == std::vector<long>{1, 2, 3, 4});
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
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const auto p = static_cast<float>(comm.size());
        const Tensors parameters = zeros({{2}, {1}, {3}, {1}});
        Zero2 optimizer(parameters, Limits{8}, {.rate = -1}, comm);
        // rank 0 brings all but 1 and 3; the others only 0
        const bool first = comm.rank() == 0;
        const Order order = first ? Order{2, 0} : Order{0};
        INFO("parameters 1 and 3 bring no gradient on any rank, 2 on rank 0 alone: p");
        loss_in_order(parameters, order, {p, p, p, p}).backward();
        optimizer.step();
        CHECK(same(all_elements(parameters), std::vector<float>{p, p, 0, 1, 1, 1, 0}, 1e-6));
    });
}

TEST_CASE("backwards add up, as two uses of a parameter do, and zero_grad forgets them") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{2}, {3}});
        Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
        const auto bring = [&](float value) {
            // the second parameter is used before and after the first
            loss_in_order(parameters, {1, 0, 1}, {value, value}).backward();
        };
        bring(64);
        optimizer.zero_grad();
        bring(1);
        bring(2);
        optimizer.step();
        INFO("64 is forgotten; 1 and 2 are added up, 2 and 4 of the second parameter");
        const Comparison result = same(
            all_elements(parameters), std::vector<float>{3, 3, 6, 6, 6}, 1e-6,
            {{{67, 67, 134, 134, 134}, "that is all three: zero_grad forgot nothing"},
             {{2, 2, 4, 4, 4}, "that is the last backward alone"}}
        );
        CHECK(result);
        optimizer.zero_grad();
        optimizer.step();
        INFO("after zero_grad there is no gradient: a step changes nothing");
        CHECK(same(all_elements(parameters), std::vector<float>{3, 3, 6, 6, 6}, 1e-6));
    });
}

TEST_CASE("whatever backward throws, zero_grad makes a new beginning") {
    begins_anew_after_exceptions(with_limit(1));
    begins_anew_after_exceptions(with_limit(1000));
}

TEST_CASE("a step leaves autograd and the parameters' flags as they were, also if a message fails"
) {
    step_leaves_settings(with_limit(1));
}

TEST_CASE("a step without a backward changes nothing, and one with gradients of zero goes on") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {  // with momentum, and with decay
            const Tensors parameters = model({{3}, {4}});
            const Tensors whole = model({{3}, {4}});
            Zero2 optimizer(parameters, Limits{1}, options, comm);
            nn::Optimizer reference(options, whole);
            const auto both = [&](float value) {
                optimizer.zero_grad();
                loss_in_order(parameters, {1, 0}, {value, value}).backward();
                optimizer.step();
                for (const at::Tensor& x : whole) {
                    x.mutable_grad() = at::ones(x.sizes()).mul(value);
                }
                reference.step();
            };
            both(8);
            optimizer.zero_grad();
            optimizer.step();
            INFO(name_of(options));
            {
                INFO("zero_grad and step, without a backward in between");
                CHECK(same(all_elements(parameters), all_elements(whole), 1e-6));
            }
            both(0);
            INFO("a backward whose gradients are zeros is a backward");
            CHECK(same(all_elements(parameters), all_elements(whole), 1e-6));
        }
    });
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
    two_trained_at_a_time("Zero2", with_limit(1));
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

TEST_CASE("zero_grad, backward and step in any order are those of one process") {
    lives_as_one_process(Steps::at_any_time, with_limit(1));
}

TEST_CASE("ranks may each leave out another parameter") {
    on_ranks({3, 2, 4}, [](const Communicator& comm) {
        const int p = comm.size();
        const Tensors parameters = zeros({{1}, {2}, {3}, {4}});
        Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
        Order order;
        std::vector<float> expected;
        for (int i = 0; i < 4; ++i) {
            if (i != comm.rank()) {
                order.push_back(static_cast<std::size_t>(i));
            }
            const float sum = static_cast<float>(i < p ? p - 1 : p);
            expected.insert(expected.end(), static_cast<std::size_t>(i) + 1, sum);
        }
        const auto all = static_cast<float>(p);
        INFO("a bucket for each parameter; rank r brings p for all but parameter r");
        loss_in_order(parameters, order, {all, all, all, all}).backward();
        optimizer.step();
        CHECK(same(all_elements(parameters), expected, 1e-6));
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
                    {.parameters = {{states.gradients, "are shards copies beside their rows?"}},
                     .gradients =
                         {{states.parameters - gradients,
                           "whole rows are there, and not shards alone"},
                          {4 * 250'011, "gradients beside their rows"}},
                     .optimizer =
                         {{(p - 1) * states.optimizer,
                           "every rank keeps the optimizer's state of all"}},
                     .rest = {{states.parameters, "all rows of gradients are still there"}}}
                );
            };
            INFO(name_of(options) << ", buckets of 150001 and 100010 parameters, p = " << p);
            holds("when it is made", 0, 0);
            for (int step = 0; step < 2; ++step) {
                optimizer.zero_grad();
                at::Tensor loss = at::zeros({}, at::kFloat);
                for (const at::Tensor& parameter : parameters) {
                    loss = loss.add(parameter.sum());
                }
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
                forget_peak();
                optimizer.step();
                holds("after the step", states.gradients, states.optimizer);
                INFO("the optimizer's pieces take some 100 KB in a step");
                CHECK(before.peak_since(4 * 150'004 / p) <= states.total() + 300'000);
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
            const Traffic in_backward = record(comm, [&] { backward(parameters, own); });
            const Traffic in_step = record(comm, [&] { optimizer.step(); });
            INFO("buckets of 20, 15 and 7: p-1 messages of a shard of each");
            CHECK(within(in_backward, cost));
            CHECK(within(in_step, cost));
        }
    });
}

TEST_CASE("a message that fails comes out of backward and of step") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{6}});
        Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
        const at::Tensor loss = parameters[0].sum();
        {
            const FailingMessages failing;
            CHECK(answer(comm, [&] { loss.backward(); }).what == kError);
            CHECK(answer(comm, [&] { optimizer.step(); }).what == kError);
        }
        optimizer.zero_grad();
        loss_in_order(parameters, {0}, {2}).backward();
        optimizer.step();
        INFO("then zero_grad, a backward that brings 2, and a step of rate -1");
        CHECK(same(all_elements(parameters), std::vector<float>(6, 2), 1e-6));
    });
}

TEST_CASE("a message that fails comes out of backward also where a gradient is missing") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Tensors parameters = zeros({{6}, {2}});
        Zero2 optimizer(parameters, Limits{1}, {.rate = -1}, comm);
        const auto run = [&] { loss_in_order(parameters, {0}, {2, 2}).backward(); };
        Answer failed;
        {
            const FailingMessages failing;
            failed = answer(comm, run);
        }
        INFO(
            "parameter 1, whose bucket is the first, has no gradient: all meet at the end of "
            "backward"
        );
        CHECK(failed.what == kError);
        optimizer.zero_grad();
        run();
        optimizer.step();
        CHECK(same(all_elements(parameters), std::vector<float>{2, 2, 2, 2, 2, 2, 0, 0}, 1e-6));
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

TEST_CASE("zero2 refuses other parameters, and limits that gradient_buckets refuses") {
    refuses_other_parameters([](const Tensors& parameters, const Communicator& comm) {
        const Zero2 made(parameters, Limits{1}, {}, comm);
    });
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Tensors parameters = model({{2, 3}, {4}});
        parameters[0].mutable_grad() = at::ones({2, 3});
        for (const Limits& limits : {Limits{}, Limits{0}, Limits{4, 0}}) {
            const auto call = [&] { const Zero2 made(parameters, limits, {}, comm); };
            refuses(comm, "no limit, or one of 0 bytes", call, as_now(parameters));
        }
    });
}

TEST_CASE("zero2 takes ranks from the communicator it is given") {
    works_in_groups(zero2(40));
}

TEST_CASE("zero2 is right on 11 ranks", "[many]") {
    trains_on_11_ranks(zero2(40));
}
