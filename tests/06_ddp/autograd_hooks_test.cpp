// What autograd_hooks must do: hooks count gradients, buckets leave in one order on every rank, and come back as means.
#include "exercises/06_ddp/autograd_hooks.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/06_ddp/backward.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Sizes kLengths = {3, 2, 0, 4, 1, 2};
const std::vector<float> kOnes(kLengths.size(), 1);
constexpr std::size_t kTwoFloats = 8;  // bytes

/// Rank `rank`'s order of gradients, for each `turn` another one. Rank 0's first is the model's backwards.
Sizes turned(int rank, int turn) {
    Sizes order = backwards(kLengths.size());
    const int first = (rank + turn) % static_cast<int>(order.size());
    std::rotate(order.begin(), order.begin() + first, order.end());
    return order;
}

std::future<void> silent(const at::Tensor& /*flat*/) {
    return ready();
}

/// A model and its Reducer, whose hook remembers what it was called for, then calls the one it is given.
struct Training {
    Training(const Sizes& n, std::size_t limit, const Communicator& comm, CommHook hook = silent)
        : model(n) {
        const auto remember = [this, hook](const at::Tensor& flat) {
            lengths.push_back(flat.numel());
            come.push_back(model.gradients_come());
            on_this_thread = on_this_thread && std::this_thread::get_id() == thread;
            std::ranges::copy(elements(flat), std::back_inserter(values));
            hook(flat).get();
            return std::async(std::launch::deferred, [this] { when_waited_for(++waited); });
        };
        reducer.emplace(model.parameters, Sizes{limit}, remember, comm);
    }

    /// One step; gradients come in this order.
    void pass(const Sizes& order, const std::vector<float>& gradients) {
        forget_gradients(model.parameters);
        reducer->prepare_for_backward();
        model.backward(order, gradients);
        reducer->finalize_backward();
    }

    Model model;
    std::optional<Reducer> reducer;
    std::vector<std::int64_t> lengths;  // of the buckets, as they leave
    std::vector<int> come;              // gradients by then
    std::vector<float> values;          // in the buckets
    int waited = 0;                     // futures that were waited for
    bool on_this_thread = true;         // the hook was called
    std::thread::id thread = std::this_thread::get_id();
    std::function<void(int number)> when_waited_for = [](int) {};
};

/// This rank's, for each parameter, other ones in each pass: p times a whole number, so that the mean is one.
std::vector<float> gradients_of(const Communicator& comm, int number) {
    return elements(filled({6}, comm.rank(), number).mul(comm.size()));
}

/// Whether every gradient is the mean of all ranks' in this pass.
Comparison are_means(const Model& model, const Communicator& comm, int number) {
    const int p = comm.size();
    const std::size_t n = kLengths.size();
    const at::Tensor mean = filled({6}, reduced_input(n, p, ReduceOp::sum, number));
    const at::Tensor before = filled({6}, reduced_input(n, p, ReduceOp::sum, number - 1));
    const at::Tensor own = filled({6}, gradients_of(comm, number));
    const auto each = [&](const at::Tensor& values) { return model.of_each(elements(values)); };
    return same(
        model.each_gradient(), each(mean), kRounding,
        {{each(own), "that is this rank's own: it met no other, or its sum lies elsewhere"},
         {each(own.div(p)), "that is a p-th of this rank's own: it met no other"},
         {each(mean.mul(p)), "that is the sum of all ranks' gradients, not their mean"},
         {each(mean.div(p)), "that is the mean, divided by p once more"},
         {each(mean.add(before, p)), "as if added to the mean of the pass before"}}
    );
}

const Forbid kForbid({"collectives"}, "messages are those of your broadcast and ring_all_reduce");

/// Three passes, in which gradients come in another order on each rank, and another one than planned.
void means_everywhere(const std::vector<int>& worlds) {
    on_ranks(worlds, [](const Communicator& comm) {
        for (const std::size_t limit : Sizes{1, kTwoFloats, 1000}) {
            Training training(kLengths, limit, comm, all_reduce_hook(comm));
            for (const int number : {1, 2, 3}) {
                INFO("a limit of " << limit << " bytes, pass " << number << "; 2 has a new plan");
                training.pass(turned(comm.rank(), number), gradients_of(comm, number));
                CHECK(are_means(training.model, comm, number));
            }
        }
    });
}

}  // namespace

TEST_CASE("all_reduce_hook adds up over all ranks, and the sum is there when it returns") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const at::Tensor flat = filled({7}, comm.rank(), 1);
        const std::vector<float> own = elements(flat);
        const std::future<void> unasked = all_reduce_hook(comm)(flat);
        CHECK(same(
            elements(flat), reduced_input(7, comm.size(), ReduceOp::sum, 1), 0,
            {{own, "that is this rank's own: the sum must be there without the future"},
             {reduced_input(7, comm.size(), ReduceOp::mean, 1),
              "that is the mean of these: the Reducer has divided by p already"}}
        ));
        INFO("the future that it returned: has it a value?");
        REQUIRE(unasked.valid());
        CHECK(unasked.wait_for(std::chrono::seconds(3)) == std::future_status::ready);
    });
}

TEST_CASE("all_reduce_hook refuses what is not float32, and reports a message that fails") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        for (const at::ScalarType dtype : {at::kDouble, at::kInt, at::kHalf}) {
            const at::Tensor row = at::full({2}, 1, dtype);
            const auto call = [&] { all_reduce_hook(comm)(row).get(); };
            refuses(comm, text("a row of ", dtype), call, as_now({row}));
        }
    });
    reports_failures([](const Communicator& comm) { all_reduce_hook(comm)(at::ones({2})).get(); });
}

TEST_CASE("a bucket's hook is called when its last gradient is there, and not before") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({2, 2, 2, 2}, 2 * kTwoFloats, comm);
        for (int number = 0; number < 3; ++number) {
            training.pass(backwards(4), {1, 1, 1, 1});
        }
        INFO("how many gradients had come when each bucket left: two of two, in three passes");
        CHECK(training.come == std::vector<int>{2, 4, 2, 4, 2, 4});
        INFO("on another thread than backward's?");
        CHECK(training.on_this_thread);
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
        CHECK(same(
            training.model.each_gradient(), std::vector<float>{large / p * (p - 1)}, kRounding,
            {{{std::numeric_limits<float>::infinity()}, "the sum is too large, the mean is not"}}
        ));
    });
}

TEST_CASE("gradients may be thrown away, set to zero, kept, or lie elsewhere: they are moved") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        const auto p = static_cast<float>(comm.size());
        const auto own = static_cast<float>(comm.rank() + 1);
        const float mean = (p + 1) / 2;  // of 1, ..., p
        const auto each = [](float value) { return std::vector<float>(3, value); };
        const Model model({1, 2});
        model.backward({1, 0}, {own, own});
        float held = mean;
        std::vector<at::Tensor> flats;
        const auto hook = [&](const at::Tensor& flat) {
            flats.push_back(flat);
            return all_reduce_hook(comm)(flat);
        };
        Reducer reducer(model.parameters, {1}, hook, comm);
        int pass = 0;
        for (const std::string before :
             {"kept", "kept", "zero", "thrown away", "kept", "elsewhere"}) {
            for (const at::Tensor& x : model.parameters) {
                at::Tensor& gradient = x.mutable_grad();
                gradient = before == "thrown away" ? at::Tensor()
                           : before == "elsewhere" ? gradient.clone()
                           : before == "zero"      ? gradient.zero_()
                                                   : gradient;
            }
            held = before == "zero" || before == "thrown away" ? 0 : held;
            INFO("pass " << ++pass << ": gradients are " << before);
            INFO("in pass 1 they are from before the Reducer was made; pass 2 has a new plan");
            reducer.prepare_for_backward();
            model.backward({1, 0}, {own, own});
            reducer.finalize_backward();
            CHECK(same(
                model.each_gradient(), each(held + mean), kRounding,
                {{each(held + own),
                  "that is this rank's own: it met no other, or its sum lies elsewhere"},
                 {each((held + mean) * p), "that is the sum of all ranks', not their mean"}}
            ));
            held += mean;
        }
        for (const at::Tensor& flat : flats) {
            flat.fill_(-1);
        }
        INFO("-1 was written to the flat tensors: the gradients are parts of them");
        CHECK(same(model.each_gradient(), each(-1)));
    });
}

TEST_CASE("gradients are means element by element, in whatever order their elements lie") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const at::Tensor weight =
            laid_out(at::ones({3, 4}), kLayouts[comm.rank() % 2]).requires_grad_();
        Reducer reducer({weight}, {1}, all_reduce_hook(comm), comm);
        for (const int pass : {1, 2}) {
            forget_gradients({weight});
            reducer.prepare_for_backward();
            weight.mul(filled({3, 4}, comm.rank(), pass).mul(comm.size())).sum().backward();
            reducer.finalize_backward();
            const auto mean = reduced_input(12, comm.size(), ReduceOp::sum, pass);
            INFO("pass " << pass << "; the weight lies transposed on every second rank");
            CHECK(same(elements(weight.grad()), mean, kRounding));
        }
    });
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

TEST_CASE("a pass costs one ring all-reduce for each bucket, and the second a broadcast") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        const int p = comm.size();
        Training training(kLengths, 1, comm, all_reduce_hook(comm));
        long floats = 0;  // a bucket for each parameter
        for (const std::size_t n : kLengths) {
            floats += 2L * (p - 1) * ceil_div(n, p);
        }
        for (const int number : {1, 2, 3}) {
            const Traffic traffic = record(comm, [&] { training.pass(backwards(6), kOnes); });
            const auto buckets = std::ssize(training.reducer->buckets());
            const long order = number == 2 && comm.rank() == 0 ? p - 1 : 0;
            INFO("pass " << number << " of 3, with " << counted(buckets, "bucket"));
            CHECK(within(
                traffic, {.messages_sent = at_most(2L * (p - 1) * buckets + order),
                          .bytes_sent = at_most(float_bytes(floats + order * std::ssize(kLengths)))}
            ));
        }
    });
}

TEST_CASE("only prepare_for_backward sends on the Reducer's communicator") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        std::optional<Training> training;
        const std::pair<const char*, std::function<void()>> calls[] = {
            {"a Reducer was made, whose hook sends nothing",
             [&] { training.emplace(kLengths, 1, comm); }},
            {"it had its first pass", [&] { training->pass(backwards(6), kOnes); }},
            {"a Reducer was destroyed", [&] { training.reset(); }}};
        for (const auto& [what, call] : calls) {
            INFO("messages where " << what);
            CHECK(record(comm, call).messages_sent == 0);
        }
    });
}

TEST_CASE("without prepare_for_backward, backward only adds, and when the Reducer is gone") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 1, 1}, 1, comm);
        training.reducer->finalize_backward();
        training.model.backward(backwards(3), {1, 2, 3});
        training.pass(backwards(3), {1, 2, 3});
        training.model.backward(backwards(3), {10, 20, 30});
        training.reducer->finalize_backward();
        {
            INFO("three backwards of three buckets, of which only the second was prepared");
            CHECK(training.lengths.size() == 3);
            CHECK(same(training.model.each_gradient(), std::vector<float>{11, 22, 33}));
        }
        training.reducer->prepare_for_backward();
        training.reducer.reset();
        training.model.backward(backwards(3), {1, 2, 3});
        INFO("calls of the hook, also of a Reducer that was destroyed before backward");
        CHECK(training.lengths.size() == 3);
        CHECK(same(training.model.each_gradient(), std::vector<float>{12, 24, 36}));
    });
}

TEST_CASE("parameters that are said to be unused count as there, also where a rank uses none") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        const auto p = static_cast<float>(comm.size());
        const Sizes unused = comm.rank() == 0 ? backwards(4) : Sizes{1};
        const std::vector<float> own(4, static_cast<float>(comm.rank() + 1));
        Training training({1, 1, 1, 1}, 1, comm, all_reduce_hook(comm));
        for (int number = 0; number < 3; ++number) {
            forget_gradients(training.model.parameters);
            INFO("each gradient is p on all ranks that use it: all but rank 0, and none uses 1,");
            INFO("whose gradient is rank + 1 from the micro-batch before");
            training.model.backward({1}, own);
            training.reducer->prepare_for_backward(unused);
            if (comm.rank() != 0) {
                training.model.backward({3, 2, 0}, std::vector<float>(4, p));
            }
            training.reducer->finalize_backward();
            const std::vector<float> means = {p - 1, (p + 1) / 2, p - 1, p - 1};
            CHECK(same(training.model.each_gradient(), means, kRounding));
        }
    });
}

TEST_CASE("a gradient that is missing or comes twice is an error with its number") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 1, 1, 1}, 1, comm);
        const auto only = [&](std::size_t parameter) {
            return error_of([&] { training.model.backward({parameter}, {1, 1, 1, 1}); });
        };
        training.reducer->prepare_for_backward();
        CHECK(only(3) == "nothing");
        CHECK(only(3) == "logic_error with 3");
        training.reducer->prepare_for_backward();
        training.model.backward({3, 1}, {1, 1, 1, 1});
        CHECK(error_of([&] { training.reducer->finalize_backward(); }) == "logic_error with 0, 2");
        {
            INFO("a bucket has left, but other ranks may never answer: nothing is waited for");
            CHECK(training.waited == 0);
        }
        training.reducer->prepare_for_backward();
        CHECK(only(3) == "nothing");
        training.lengths.clear();
        training.pass({1, 2, 0, 3}, {1, 1, 1, 1});
        {
            INFO("lengths of the buckets of a pass after one that was not finalized");
            CHECK(training.lengths == std::vector<std::int64_t>{1, 1, 1, 1});
        }
        CHECK(text_of(training.reducer->buckets()) == "{3} {2} {1} {0}");
        training.reducer->prepare_for_backward();
        {
            INFO("the pass after a whole one has a new plan: gradients had come as 1, 2, 0, 3");
            CHECK(text_of(training.reducer->buckets()) == "{1} {2} {0} {3}");
        }
        INFO("a gradient comes twice, and its bucket waits for others: it is an error all the same"
        );
        CHECK(only(0) == "nothing");
        CHECK(only(0) == "logic_error with 0");
    });
}

TEST_CASE("after a pass that ends with an error on one rank, all ranks make the plan") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Training training({1, 1}, 1, comm);
        training.when_waited_for = [&](int /*number*/) {
            if (comm.rank() == 1) {
                throw Error("of the test");
            }
        };
        const auto thrown = thrown_by([&] { training.pass({0, 1}, {1, 1}); });
        training.when_waited_for = [](int /*number*/) {};
        training.pass({0, 1}, {3, 4});
        CHECK(thrown == (comm.rank() == 1 ? "of the test" : "nothing"));
        INFO("all gradients were ready in the pass before, as 0, 1");
        CHECK(text_of(training.reducer->buckets()) == "{0} {1}");
        const auto p = static_cast<float>(comm.size());
        CHECK(same(training.model.each_gradient(), std::vector<float>{3 / p, 4 / p}, kRounding));
    });
}

TEST_CASE("finalize_backward waits for all buckets, and throws the first error among them") {
    on_ranks({1}, [](const Communicator& comm) {
        for (const Thrown what : {Thrown::error, Thrown::number}) {
            Training training({1, 1, 1}, 1, comm);
            training.when_waited_for = [what](int number) {
                if (number == 2) {
                    raise(what);
                } else if (number == 3) {
                    throw std::runtime_error("bucket 3");
                }
            };
            const auto error = thrown_by([&] { training.pass(backwards(3), {1, 1, 1}); });
            INFO("three buckets; the second throws " << name_of(what) << ", the third as well");
            CHECK(training.waited == 3);
            CHECK(error == name_of(what));
        }
    });
}

TEST_CASE("what the hook and its futures throw comes out, and the next pass is as ever") {
    for (const bool at_once : {false, true}) {  // buckets leave in prepare_for_backward()
        on_ranks({1}, [&](const Communicator& comm) {
            std::function<void()> bomb;
            Training training({1, 1}, 1, comm, [&](const at::Tensor& /*flat*/) {
                bomb();
                return ready();
            });
            training.when_waited_for = [&](int /*number*/) { bomb(); };
            const Settings settings(training.model.parameters);
            const auto pass = [&](const std::function<void()>& what) {
                bomb = what;
                if (at_once) {
                    training.reducer->prepare_for_backward(backwards(2));
                    training.reducer->finalize_backward();  // at the latest
                } else {
                    training.pass(backwards(2), {3, 4});
                }
            };
            INFO((at_once ? "buckets of unused parameters" : "buckets of a backward"));
            everything_throws(4, pass, [&] {  // the hook for two buckets, and two futures
                bomb = [] {};
                const Comparison left = settings.unchanged();
                // nothing is prepared after it: of a pass that has ended with an error, gradients are missing
                thrown_by([&] { training.reducer->finalize_backward(); });
                const std::size_t calls = training.lengths.size();
                const auto thrown = thrown_by([&] { training.model.backward({1, 0}, {1, 1}); });
                if (thrown != "nothing" || training.lengths.size() > calls) {
                    return Comparison{
                        false, "a pass is still prepared when finalize_backward() has thrown"};
                }
                training.pass(backwards(2), {3, 4});
                return left ? same(training.model.each_gradient(), std::vector<float>{3, 4}) : left;
            });
        });
    }
}

TEST_CASE("two Reducers know nothing of each other") {
    on_ranks({1}, [](const Communicator& comm) {
        Training other({1, 1}, 1, comm);
        Training training({1, 1}, 1, comm);
        training.reducer->prepare_for_backward();
        other.model.backward(backwards(2), {5, 6});
        INFO("one is prepared, and backward runs for the other: calls of the other's hook");
        CHECK(other.lengths.empty());
        other.pass({0, 1}, {5, 6});
        training.model.backward(backwards(2), {1, 2});
        training.reducer->finalize_backward();
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

TEST_CASE("the Reducer refuses what is no leaf with a gradient, or stands twice") {
    on_ranks({1}, [](const Communicator& comm) {
        const std::vector<at::Tensor> x = Model({1, 1}).parameters;
        const at::Tensor& good = x[1];
        for (const at::Tensor& other : {good, good.detach(), good.mul(2)}) {
            CHECK_THROWS_AS(Reducer({good, x[0], other}, {1}, silent, comm), std::invalid_argument);
            CHECK_THROWS_AS(Reducer({x[0], good, other}, {1}, silent, comm), std::invalid_argument);
        }
        CHECK_THROWS_AS(Reducer({good}, {}, silent, comm), std::invalid_argument);
        INFO("what is refused leaves the gradients as they were: not there");
        CHECK_FALSE(good.grad().defined());
        INFO("another leaf in the same memory is a parameter of its own");
        CHECK_NOTHROW(Reducer({good, good.detach().requires_grad_()}, {1}, silent, comm));
    });
}

TEST_CASE("prepare_for_backward refuses numbers that no parameter has, before any message") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        Training training({1, 1}, 1, comm);
        training.pass(backwards(2), {1, 1});  // the order is due
        const CrashMeans crash("as if a parameter was looked for that is not there");
        for (const Sizes& wrong :
             {Sizes{2}, {0, 2}, {1UL << 31U}, {1UL << 32U}, {(1UL << 53U) + 1}}) {
            const auto what =
                text("unused are ", text_of({wrong}), ", and there are two parameters");
            refuses(comm, what, [&] { training.reducer->prepare_for_backward(wrong); });
        }
    });
}

TEST_CASE("autograd_hooks is right on 11 ranks", "[many]") {
    means_everywhere({11});
}
