// What average_gradients must do: the mean of every gradient on every rank, by one all-reduce.
#include "exercises/05_data_parallel/average_gradients.hpp"

#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <string>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/tensors.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_all_reduce, of chapter 03."
);

/// One parameter for each shape, with gradients that are different on every rank.
std::vector<at::Tensor> model_with_gradients(int rank) {
    std::vector<at::Tensor> parameters;
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
        const at::Tensor parameter = at::full(kShapes[i], 0.5, at::kFloat).requires_grad_();
        parameter.mutable_grad() = filled(kShapes[i], rank, i);
        parameters.push_back(parameter);
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

/// The mean of every gradient on every rank of these worlds.
void leaves_the_mean(const std::vector<int>& worlds) {
    on_ranks(worlds, [](const Communicator& comm) {
        const auto parameters = model_with_gradients(comm.rank());
        average_gradients(parameters, comm);
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            INFO("parameter " << i);
            CHECK(averaged(parameters[i].grad(), comm, i));
        }
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
        const Comparison after_step = same(
            elements(x.sub(x.grad(), 0.1)), std::vector<float>{1.7F}, 1e-6,
            {{{1.4F}, "did x move already? The step is the optimizer's"}}
        );
        CHECK(after_step);
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
        average_gradients(parameters, comm);

        std::vector<float> without_rank_0(count(parameters[1]));
        for (int rank = 1; rank < p; ++rank) {
            dist::accumulate(input(without_rank_0.size(), rank, 1), without_rank_0, ReduceOp::sum);
        }
        scale(without_rank_0, 1.0F / static_cast<float>(p));
        INFO("Rank 0 had no gradient for parameter 1, and no rank had one for parameter 3.");
        INFO("Now all have one, or an optimizer would skip what others move.");
        CHECK(parameters[1].grad().defined());
        CHECK(parameters[3].grad().defined());
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

TEST_CASE("average_gradients reads gradients that are not contiguous") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const at::Tensor parameter = at::full({4, 3}, 0.5, at::kFloat).requires_grad_();
        // every second column of a wider tensor
        const at::Tensor gradient = at::full({4, 6}, 100.0, at::kFloat).slice(1, 0, 6, 2);
        gradient.copy_(filled({4, 3}, comm.rank(), 0));
        parameter.mutable_grad() = gradient;
        average_gradients(std::vector{parameter}, comm);
        INFO("The elements in memory order are not the elements in the tensor's order.");
        CHECK(averaged(parameter.grad(), comm, 0));
    });
}

TEST_CASE("average_gradients is one all-reduce, however many parameters there are") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
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
        const Comparison spent = within(
            traffic,
            {.messages_sent = at_most(steps), .bytes_sent = at_most(steps * 4 * ceil_div(n, p))}
        );
        CHECK(spent);
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
        const auto together = train(
            images.narrow(0, begin, batch), labels.narrow(0, begin, batch),
            [&](const at::Tensor& weight) { average_gradients(std::vector{weight}, comm); }
        );
        const auto alone = train(images, labels, [](const at::Tensor&) {});
        INFO(
            comm.size() << " ranks with " << batch << " samples each, against one rank with all "
                        << all << ": the same model, up to rounding"
        );
        CHECK(same(together, alone, 1e-5));  // the weights stay far from zero: between 1 and 10
    });
}

TEST_CASE("average_gradients is right on 11 ranks", "[many]") {
    leaves_the_mean({11});
}
