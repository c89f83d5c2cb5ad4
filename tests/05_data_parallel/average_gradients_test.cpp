// What average_gradients must do: the mean of every gradient on every rank, by one all-reduce.
#include "exercises/05_data_parallel/average_gradients.hpp"

#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <cmath>
#include <string>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_all_reduce, of chapter 03."
);

/// A parameter with this gradient.
at::Tensor parameter_with(const at::Tensor& gradient) {
    const at::Tensor parameter = at::full(gradient.sizes(), 0.5, at::kFloat).requires_grad_();
    parameter.mutable_grad() = gradient;
    return parameter;
}

/// 35 parameters, seven of each shape, with gradients that are different on every rank.
std::vector<at::Tensor> model_with_gradients(int rank, std::uint64_t salt = 0) {
    std::vector<at::Tensor> parameters;
    for (std::size_t i = 0; i < 7 * kShapes.size(); ++i) {
        parameters.push_back(parameter_with(filled(kShapes[i % kShapes.size()], rank, salt + i)));
    }
    return parameters;
}

/// Is `gradient` the mean of input(n, 0..p-1, salt)?
Comparison averaged(const at::Tensor& gradient, const Communicator& comm, std::uint64_t salt) {
    if (!gradient.defined()) {
        return {false, "the gradient is undefined"};
    }
    const std::size_t n = count(gradient);
    const int p = comm.size();
    auto divided = input(n, comm.rank(), salt);
    scale(divided, 1.0F / static_cast<float>(p));
    std::vector<Suspicion> known = {
        {reduced_input(n, p, ReduceOp::sum, salt),
         "that is the sum; the mean is the sum divided by p"},
        {input(n, comm.rank(), salt), "that is this rank's own gradient: nothing was averaged"},
        {divided, "that is this rank's own gradient divided by p: the others' were not added"}};
    for (int rank = 0; rank < p; ++rank) {
        known.push_back(
            {input(n, rank, salt), "that is rank " + std::to_string(rank) + "'s gradient"}
        );
    }
    const auto expected = reduced_input(n, p, ReduceOp::mean, salt);
    return same(elements(gradient), expected, tolerance(ReduceOp::mean, comm.size()), known);
}

Comparison has_gradient(const std::vector<at::Tensor>& parameters, std::size_t i) {
    return {parameters[i].grad().defined(), "parameter " + std::to_string(i) + " has no gradient"};
}

/// Are these the means of model_with_gradients(0..p-1, salt)?
void check_averaged(
    const std::vector<at::Tensor>& parameters, const Communicator& comm, std::uint64_t salt = 0
) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        INFO("parameter " << i);
        CHECK(averaged(parameters[i].grad(), comm, salt + i));
    }
}

/// Numbers that can be compared: NaN equals nothing, and a sum of the largest number may overflow, or not.
std::vector<float> comparable(std::vector<float> values) {
    for (float& value : values) {
        value = std::isnan(value) ? 12345.0F : std::clamp(value, -1e38F, 1e38F);
    }
    return values;
}

/// A gradient in each layout, on each rank the same ones or one of its own; and infinities and NaNs.
void averages_the_zoo(Strides strides, const Communicator& comm) {
    const auto residents = [&](int rank) { return zoo({at::kFloat}, rank, 0, strides); };
    const std::vector<Resident> mine = residents(comm.rank());
    std::vector<at::Tensor> parameters;
    for (const Resident& resident : mine) {
        parameters.push_back(parameter_with(resident.tensor));
    }
    average_gradients(parameters, comm);
    for (std::size_t i = 0; i < mine.size(); ++i) {
        std::vector<float> mean(count(mine[i].tensor));
        for (int rank = 0; rank < comm.size(); ++rank) {
            const std::vector<float> theirs = elements(residents(rank)[i].tensor);
            dist::accumulate(theirs, mean, ReduceOp::sum);
        }
        scale(mean, 1.0F / static_cast<float>(comm.size()));
        INFO("This rank's gradient " << i << " was: " << mine[i].name << ".");
        INFO("The elements in memory order are not the elements in the tensor's order, and");
        INFO("another rank's may lie in another order. Where one rank has NaN, the mean is NaN.");
        CHECK(same(
            comparable(elements(parameters[i].grad())), comparable(mean),
            tolerance(ReduceOp::mean, comm.size())
        ));
    }
}

Call mean_of(Call call) {
    call.op = ReduceOp::mean;
    return call;
}

/// For the harness's patterns: data is one gradient.
const Attempt kAttempt{
    .name = "average_gradients",
    .before = contribution,
    .call =
        [](Buffers& b, const Call& call, const Communicator& comm) {
            const at::Tensor parameter =
                parameter_with(filled({static_cast<std::int64_t>(call.n)}, b.data));
            average_gradients(std::vector{parameter}, comm);
            b.data = elements(parameter.grad());
        },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& comm
               ) { return reduced(b.data, mean_of(call), comm); }};

/// The mean of every gradient on every rank of these worlds.
void leaves_the_mean(const std::vector<int>& worlds) {
    on_ranks(worlds, [](const Communicator& comm) {
        const auto parameters = model_with_gradients(comm.rank());
        average_gradients(parameters, comm);
        check_averaged(parameters, comm);
    });
}

}  // namespace

TEST_CASE("two ranks with the gradients 4 and 2 both get 3, and step from 2.0 to 1.7") {
    on_ranks({2}, [](const Communicator& comm) {
        const at::Tensor x = at::full({}, 2.0, at::kFloat).requires_grad_();
        x.sub(comm.rank()).square().backward();
        average_gradients(std::vector{x}, comm);
        INFO("x = 2, and rank r minimises (x - r)^2: the gradients are 4 and 2, their mean is 3");
        const Comparison gradient = same(
            elements(x.grad()), std::vector<float>{3.0F}, 0.0,
            {{{6.0F}, "that is the sum, and one step would go to 1.4"},
             {{comm.rank() == 0 ? 4.0F : 2.0F}, "that is this rank's own gradient"}}
        );
        CHECK(gradient);
        CHECK(same(
            elements(x.sub(x.grad(), 0.1)), std::vector<float>{1.7F}, 1e-6,
            {{{1.4F}, "did x move already? The step is the optimizer's"}}
        ));
    });
}

TEST_CASE("average_gradients leaves the mean of every gradient on every rank") {
    leaves_the_mean({3, 1, 2, 4, 5});
}

TEST_CASE("an undefined gradient counts as zeros, and is defined afterwards") {
    on_ranks({1, 2, 3}, [](const Communicator& comm) {
        const int p = comm.size();
        auto parameters = model_with_gradients(comm.rank());
        // rank 0 did not use parameter 1, and nobody used parameter 3
        if (comm.rank() == 0) {
            parameters[1].mutable_grad() = at::Tensor();
        }
        parameters[3].mutable_grad() = at::Tensor();
        INFO("Rank 0 had no gradient for parameter 1, and no rank had one for parameter 3.");
        average_gradients(parameters, comm);

        std::vector<float> without_rank_0(count(parameters[1]));
        for (int rank = 1; rank < p; ++rank) {
            dist::accumulate(input(without_rank_0.size(), rank, 1), without_rank_0, ReduceOp::sum);
        }
        scale(without_rank_0, 1.0F / static_cast<float>(p));
        INFO("Afterwards all must have one: an optimizer skips a parameter without a gradient.");
        CHECK(has_gradient(parameters, 1));
        CHECK(has_gradient(parameters, 3));
        if (parameters[1].grad().defined() && parameters[3].grad().defined()) {
            CHECK(same(
                elements(parameters[1].grad()), without_rank_0,
                tolerance(ReduceOp::mean, comm.size())
            ));
            CHECK(same(elements(parameters[3].grad()), std::vector<float>(count(parameters[3]))));
        }
        CHECK(averaged(parameters[0].grad(), comm, 0));
    });
}

TEST_CASE("average_gradients does not touch the parameters themselves") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const auto parameters = model_with_gradients(comm.rank());
        average_gradients(parameters, comm);
        for (const at::Tensor& parameter : parameters) {
            INFO("the step is the optimizer's; here only gradients change");
            CHECK(same(elements(parameter), std::vector<float>(count(parameter), 0.5F)));
            CHECK(parameter.requires_grad());
        }
    });
}

TEST_CASE("average_gradients takes gradients in any layout, on each rank in another one") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        averages_the_zoo(Strides::alike, comm);
        averages_the_zoo(Strides::differ, comm);
    });
}

TEST_CASE("a rank without any gradient takes part with zeros") {
    on_ranks({3, 2, 1}, [](const Communicator& comm) {
        for (int without = 0; without < comm.size(); ++without) {
            const auto parameters = model_with_gradients(comm.rank());
            if (comm.rank() == without) {
                for (const at::Tensor& parameter : parameters) {
                    parameter.mutable_grad() = at::Tensor();
                }
            }
            INFO("Rank " << without << " used no parameter: the others wait for its zeros.");
            record(comm, [&] { average_gradients(parameters, comm); });
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                std::vector<float> mean(count(parameters[i]));
                for (int rank = 0; rank < comm.size(); ++rank) {
                    if (rank != without) {
                        dist::accumulate(input(mean.size(), rank, i), mean, ReduceOp::sum);
                    }
                }
                scale(mean, 1.0F / static_cast<float>(comm.size()));
                CHECK(has_gradient(parameters, i));
                if (parameters[i].grad().defined()) {
                    CHECK(same(
                        elements(parameters[i].grad()), mean, tolerance(ReduceOp::mean, comm.size())
                    ));
                }
            }
        }
    });
}

TEST_CASE("the gradients of one model stay as they are while another's are averaged") {
    on_ranks({2, 3, 1}, [](const Communicator& comm) {
        const auto first = model_with_gradients(comm.rank(), 100);
        const auto second = model_with_gradients(comm.rank(), 200);
        average_gradients(first, comm);
        average_gradients(second, comm);
        INFO("Two models, one after the other, and then a look at both: is some memory shared");
        INFO("by all calls?");
        check_averaged(second, comm, 200);
        check_averaged(first, comm, 100);
    });
}

TEST_CASE("average_gradients is one all-reduce, however many parameters there are") {
    on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        const auto parameters = model_with_gradients(comm.rank());
        const std::size_t n = count(parameters);
        const Traffic traffic = record(comm, [&] { average_gradients(parameters, comm); });
        INFO(
            "rank " << comm.rank() << ": " << parameters.size() << " parameters, " << n
                    << " elements in all."
        );
        INFO(
            "One ring all-reduce of all gradients in one row sends "
            << 2 * (p - 1) << " messages; one for each parameter waits for all its latencies again."
        );
        const long steps = 2L * (p - 1);
        CHECK(within(
            traffic, {.messages_sent = at_most(steps),
                      .bytes_sent = at_most(steps * 4 * ceil_div(n, p)),
                      .among = neighbours(comm)}
        ));
    });
}

TEST_CASE("p ranks train as one rank would with all the data") {
    on_ranks({1, 2, 3, 4}, [](const Communicator& comm) {
        const std::int64_t batch = 2;
        const std::int64_t all = batch * comm.size();
        const at::Tensor images = filled({all, 3}, 0, 1);
        const at::Tensor labels = filled({all, 1}, 0, 2);
        // three steps of linear regression; the gradient is averaged by `exchange`
        const auto train = [](const at::Tensor& x, const at::Tensor& y, const auto& exchange) {
            const at::Tensor weight = at::full({3, 1}, 10.0, at::kFloat).requires_grad_();
            for (int step = 0; step < 3; ++step) {
                weight.mutable_grad() = at::Tensor();
                x.matmul(weight).sub(y).square().mean().backward();
                exchange(weight);
                const c10::AutoGradMode no_grad(false);
                weight.sub_(weight.grad(), 0.001);
            }
            return elements(weight);
        };
        const std::int64_t begin = comm.rank() * batch;
        INFO(
            comm.size() << " ranks with " << batch << " samples each, against one rank with all "
                        << all << ": the same model, up to rounding"
        );
        const auto together = train(
            images.narrow(0, begin, batch), labels.narrow(0, begin, batch),
            [&](const at::Tensor& weight) { average_gradients(std::vector{weight}, comm); }
        );
        const auto alone = train(images, labels, [](const at::Tensor&) {});
        CHECK(same(together, alone, 1e-5));  // the weights stay far from zero: between 1 and 10
    });
}

TEST_CASE("average_gradients throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("average_gradients is right on 11 ranks", "[many]") {
    leaves_the_mean({11});
}
