// What autograd_hooks must do: hooks count gradients, buckets leave in one order on every rank, and come back as means.
#include "exercises/06_ddp/autograd_hooks.hpp"

#include <ATen/ops/full.h>
#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "course/protocol/counted.hpp"
#include "tests/06_ddp/reducer_errors.hpp"
#include "tests/06_ddp/reducer_gradients.hpp"
#include "tests/06_ddp/reducer_life.hpp"
#include "tests/06_ddp/training.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "messages are those of your broadcast and ring_all_reduce");

const std::vector<float> kOnes(kLengths.size(), 1);

/// Three passes, in which gradients come in another order on each rank, and another one than planned.
void means_everywhere(const std::vector<int>& worlds) {
    on_ranks(worlds, [](const Communicator& comm) {
        for (const std::size_t limit : Sizes{1, kTwoFloats, 1000}) {
            Training training(kLengths, limit, comm, all_reduce_hook(comm));
            for (const int number : {1, 2, 3}) {
                INFO(
                    "a limit of " << counted(limit, "byte") << ", pass " << number
                                  << "; 2 has a new plan"
                );
                training.pass(turned(comm.rank(), number), gradients_of(comm, number));
                const Comparison means = are_means(training.model, comm, number);
                CHECK(means);
            }
        }
    });
}

}  // namespace

TEST_CASE("all_reduce_hook adds up over all ranks, and the sum is there when it returns") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const int p = comm.size();
        const at::Tensor flat = filled({7}, comm.rank(), 1);
        const std::vector<float> own = elements(flat);
        const std::future<void> unasked = all_reduce_hook(comm)(flat);
        const Comparison sum = same(
            elements(flat), reduced_input(7, p, ReduceOp::sum, 1), 0,
            {{own, "that is this rank's own: the sum must be there without the future"},
             {reduced_input(7, p, ReduceOp::mean, 1),
              "that is the mean of these: the Reducer has divided by p already"}}
        );
        CHECK(sum);
        INFO("the future that it returned: has it a value?");
        REQUIRE(unasked.valid());
        CHECK(unasked.wait_for(std::chrono::seconds(3)) == std::future_status::ready);
    });
}

TEST_CASE("all_reduce_hook refuses what is not float32, and reports a message that fails") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const auto attempt = [&](at::ScalarType dtype) {
            return answer(comm, [&] { all_reduce_hook(comm)(at::full({2}, 1, dtype)).get(); });
        };
        for (const at::ScalarType dtype : {at::kDouble, at::kInt, at::kHalf}) {
            const Answer refused = attempt(dtype);
            INFO("a row of " << dtype);
            CHECK(refused.what == kInvalidArgument);
            CHECK(refused.traffic.messages_sent == 0);
        }
        const FailingMessages failing;
        const Answer failed = attempt(at::kFloat);
        CHECK(failed.what == kError);
    });
}

TEST_CASE("a bucket's hook is called when its last gradient is there, and not before") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({2, 2, 2, 2}, 2 * kTwoFloats, comm);
        for (int number = 0; number < 3; ++number) {
            training.pass(backwards(4), {1, 1, 1, 1});
        }
        INFO("how many gradients had come when each bucket left: two of two, in three passes");
        CHECK(training.come == std::vector<int>{2, 4, 2, 4, 2, 4});
    });
}

TEST_CASE("the hook sees gradients to which all is added, also where two layers share one") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 1}, 1000, comm);
        training.reducer->prepare_for_backward();
        const auto& x = training.model.parameters;
        x[1].mul(2).add(x[0].mul(3)).add(x[1].mul(4)).sum().backward();
        training.reducer->finalize_backward();
        INFO("a hook of the tensor comes before backward adds to the gradient: GradientHook");
        CHECK(same(training.values, std::vector<float>{6, 3}));
    });
}

TEST_CASE("hooks are called in the order of the buckets, whatever the order of the gradients") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 2, 3}, 1, comm);
        training.pass({1, 0, 2}, {1, 1, 1});
        INFO("lengths of the buckets as they leave; gradients come as 1, 0, 2: all wait for 2");
        CHECK(training.lengths == std::vector<std::int64_t>{3, 2, 1});
    });
}

TEST_CASE("autograd_hooks leaves the mean over all ranks in every gradient, in every pass") {
    means_everywhere({3, 1, 2, 4, 5});
}

TEST_CASE("gradients are divided by p before the sum") {
    on_ranks({3, 2, 4}, [](const Communicator& comm) {
        const auto p = static_cast<float>(comm.size());
        const float large = std::numeric_limits<float>::max() * 0.9F;
        Training training({1}, 1, comm, all_reduce_hook(comm));
        training.pass({0}, {comm.rank() == 0 ? 0 : large});
        const Comparison mean = same(
            training.model.each_gradient(), std::vector<float>{large / p * (p - 1)}, kRounding,
            {{{std::numeric_limits<float>::infinity()}, "the sum is too large, the mean is not"}}
        );
        CHECK(mean);
    });
}

TEST_CASE("a gradient without dimensions has the bits that it would have in a row") {
    keeps_bits_without_dimensions();
}

TEST_CASE("gradients may be thrown away, set to zero, kept, or lie elsewhere: they are moved") {
    moves_gradients();
}

TEST_CASE("p ranks have the gradients that one process has of the whole batch") {
    has_gradients_of_the_whole_batch();
}

TEST_CASE("the second pass has a plan of rank 0's order of arrival, on every rank, and keeps it") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        Training training(kLengths, kTwoFloats, comm);
        std::vector<std::string> plans;
        for (const int turn : {2, 0, 1}) {
            training.pass(turned(comm.rank(), turn), kOnes);
            plans.push_back(text_of(training.reducer->buckets()));
        }
        CHECK(plans[0] == "{5} {4 3} {2 1} {0}");
        INFO("the second pass, when gradients have come as 3, 2, 1, 0, 5, 4 to rank 0");
        CHECK(plans[1] == "{3} {2 1} {0} {5} {4}");
        INFO("the third pass keeps the plan of the second");
        CHECK(plans[2] == plans[1]);
    });
}

TEST_CASE("a new plan leaves the gradients' values as they are") {
    on_ranks({1, 2}, [](const Communicator& comm) {
        Training training({1, 1, 1}, 1, comm, all_reduce_hook(comm));
        training.pass({1, 2, 0}, {5, 6, 7});
        training.reducer->prepare_for_backward();
        const std::vector<float> kept = training.model.each_gradient();
        training.model.backward({1, 2, 0}, {10, 20, 30});
        training.reducer->finalize_backward();
        CHECK(same(kept, std::vector<float>{5, 6, 7}));
        CHECK(same(training.model.each_gradient(), std::vector<float>{15, 26, 37}));
    });
}

TEST_CASE("a pass costs one ring all-reduce for each bucket, and the second a broadcast") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        Training training(kLengths, 1, comm, all_reduce_hook(comm));
        for (const int number : {1, 2, 3}) {
            const Traffic traffic = record(comm, [&] { training.pass(backwards(6), kOnes); });
            const auto buckets = static_cast<long>(training.reducer->buckets().size());
            const long order = number == 2 && comm.rank() == 0 ? p - 1 : 0;
            long floats = order * std::ssize(kLengths);
            for (const Bucket& bucket : training.reducer->buckets()) {
                std::size_t n = 0;
                for (const std::size_t i : bucket) {
                    n += kLengths[i];
                }
                floats += 2L * (p - 1) * ceil_div(n, p);
            }
            const Comparison spent = within(
                traffic, {.messages_sent = at_most(2L * (p - 1) * buckets + order),
                          .bytes_sent = at_most(float_bytes(static_cast<std::size_t>(floats)))}
            );
            INFO("pass " << number << " of 3, with " << counted(buckets, "bucket"));
            CHECK(spent);
        }
    });
}

TEST_CASE("only prepare_for_backward sends on the Reducer's communicator") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        std::optional<Training> training;
        const auto sent = [&](const std::function<void()>& call) {
            return record(comm, call).messages_sent;
        };
        const long made = sent([&] { training.emplace(kLengths, 1, comm); });
        const long passed = sent([&] { training->pass(backwards(6), kOnes); });
        const long destroyed = sent([&] { training.reset(); });
        INFO("messages where a Reducer was made, whose hook sends nothing");
        CHECK(made == 0);
        INFO("in its first pass");
        CHECK(passed == 0);
        INFO("where a Reducer was destroyed");
        CHECK(destroyed == 0);
    });
}

TEST_CASE("gradients that were there before the Reducer was made are in the first pass") {
    takes_older_gradients();
}

TEST_CASE("without prepare_for_backward, backward only adds, and finalize_backward does nothing") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 1, 1}, 1, comm);
        training.reducer->finalize_backward();
        training.model.backward(backwards(3), {1, 2, 3});
        training.pass(backwards(3), {1, 2, 3});
        training.model.backward(backwards(3), {10, 20, 30});
        training.reducer->finalize_backward();
        INFO("three backwards of three buckets, of which only the second was prepared");
        CHECK(training.lengths.size() == 3);
        CHECK(same(training.model.each_gradient(), std::vector<float>{11, 22, 33}));
    });
}

TEST_CASE("parameters that are said to be unused count as there, also where a rank uses none") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        const auto p = static_cast<float>(comm.size());
        const Sizes unused = comm.rank() == 0 ? backwards(4) : Sizes{1};
        Training training({1, 1, 1, 1}, 1, comm, all_reduce_hook(comm));
        for (int number = 0; number < 3; ++number) {
            forget_gradients(training.model.parameters);
            INFO("each gradient is p on all ranks that use it: all but rank 0, and none uses 1");
            training.reducer->prepare_for_backward(unused);
            if (comm.rank() != 0) {
                training.model.backward({3, 2, 0}, std::vector<float>(4, p));
            }
            training.reducer->finalize_backward();
            const std::vector<float> means = {p - 1, 0, p - 1, p - 1};
            CHECK(same(training.model.each_gradient(), means, kRounding));
        }
    });
}

TEST_CASE("a gradient that is missing or comes twice is an error with its number") {
    missing_or_twice();
}

TEST_CASE("after a pass in which gradients are missing, the next whole one makes the plan") {
    plans_after_a_pass_with_gaps();
}

TEST_CASE("after a pass that ends with an error on one rank, all ranks make the plan") {
    plans_after_an_error_of_one_rank();
}

TEST_CASE("finalize_backward waits for all buckets, and throws the first error among them") {
    throws_the_first_error();
}

TEST_CASE("what the hook and its futures throw comes out, and the next pass is as ever") {
    throws_what_hooks_throw();
}

TEST_CASE(
    "what the hook throws for buckets of unused parameters comes out, and the next pass is as ever"
) {
    throws_what_hooks_of_unused_throw();
}

TEST_CASE("a Reducer's passes, in any order of calls") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const auto begin = [&](std::uint64_t draw) { return steps_of_a_reducer(comm, draw); };
        lives(begin, {.lives = 6, .steps = 20});
    });
}

TEST_CASE("two Reducers at work know nothing of each other") {
    on_ranks({1}, [](const Communicator& comm) {
        Training other({1, 1}, 1, comm);
        Training training({1, 1}, 1, comm, [&](const at::Tensor&) {
            const c10::AutoGradMode recording(true);  // in backward it is off
            other.pass({0, 1}, {5, 6});
            return ready();
        });
        training.reducer->prepare_for_backward();
        other.model.backward(backwards(2), {5, 6});
        INFO("one is prepared, and backward runs for the other: calls of the other's hook");
        CHECK(other.lengths.empty());
        training.model.backward(backwards(2), {1, 2});
        training.reducer->finalize_backward();
        INFO("then a pass of one, in whose hook the other has a pass");
        CHECK(training.lengths.size() == 2);
        CHECK(other.lengths.size() == 4);
        CHECK(same(training.model.each_gradient(), std::vector<float>{1, 2}));
        CHECK(same(other.model.each_gradient(), std::vector<float>{5, 6}));
    });
}

TEST_CASE("70 parameters are as many as there are") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training(Sizes(70, 1), kTwoFloats, comm);
        std::vector<float> gradients(70);
        std::iota(gradients.begin(), gradients.end(), 1.0F);
        training.pass(backwards(70), gradients);
        CHECK(training.lengths == std::vector<std::int64_t>(35, 2));
        CHECK(same(training.model.each_gradient(), gradients));
    });
}

TEST_CASE("gradients of any dtype are divided in their bucket, and keep it") {
    divides_any_dtype();
}

TEST_CASE("the Reducer refuses what is no leaf with a gradient, or stands twice") {
    refuses_what_is_no_leaf();
}

TEST_CASE("prepare_for_backward refuses numbers that no parameter has, before any message") {
    refuses_numbers();
}

TEST_CASE("when the Reducer is gone, backward leaves the parameters alone") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 1}, 1, comm);
        training.reducer->prepare_for_backward();
        training.reducer.reset();
        training.model.backward(backwards(2), {1, 2});
        INFO("calls of the hook, of a Reducer that was destroyed before backward");
        CHECK(training.lengths.empty());
        CHECK(same(training.model.each_gradient(), std::vector<float>{1, 2}));
    });
}

TEST_CASE("autograd_hooks is right on 11 ranks", "[many]") {
    means_everywhere({11});
}
