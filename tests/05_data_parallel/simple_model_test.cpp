// What simple_model must do: one step by all ranks' gradients, on a tensor that stays where it is.
#include "exercises/05_data_parallel/simple_model.hpp"

#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <cmath>
#include <string>

#include "course/protocol/counted.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_all_reduce, of chapter 03."
);

constexpr double kRate = 0.25;  // steps of whole gradients are exact in float

/// A number that is trained.
at::Tensor leaf(float value) {
    return at::full({}, value, at::kFloat).requires_grad_();
}

std::vector<float> one(double value) {
    return {static_cast<float>(value)};
}

/// x as data, its gradient as out: empty where it is undefined.
Buffers numbers(const at::Tensor& x) {
    return {elements(x), x.grad().defined() ? elements(x.grad()) : std::vector<float>()};
}

/// The gradients of (x - target)^2 for p targets, the first one `first`, combined.
double combined(double x, ReduceOp op, int p, int first = 0) {
    double sum = 0;
    for (int target = first; target < first + p; ++target) {
        sum += 2 * (x - target);
    }
    return op == ReduceOp::mean ? sum / p : sum;
}

/// What one step begins with.
struct Step {
    double x = 2;
    double rate = kRate;
    ReduceOp op = ReduceOp::mean;
    double old_gradient = 0;  // what x.grad() held
};

/// Are x and its gradient what this step leaves on every rank? The gradient first: x follows it.
Comparison stepped(const Buffers& after, const Step& from, const Communicator& comm) {
    if (after.out.empty()) {
        return {false, "x.grad() is undefined: the combined gradient belongs there"};
    }
    const int p = comm.size();
    const ReduceOp other = from.op == ReduceOp::mean ? ReduceOp::sum : ReduceOp::mean;
    const double own = 2 * (from.x - comm.rank());
    const double gradient = combined(from.x, from.op, p);
    const double kept = from.old_gradient * (from.op == ReduceOp::mean ? 1 : p);
    const double rounding = p == 1 || p == 2 || p == 4 ? 0 : tolerance(from.op, p);
    Comparison result = same(
        after.out, one(gradient), rounding,
        {{one(combined(from.x, other, p)),
          std::string("that is the ") + name(other) + "; the " + name(from.op) + " was asked for"},
         {one(own), "that is this rank's own gradient: nothing was combined"},
         {one(gradient + kept), "what x.grad() held before is in it: backward() adds to that"},
         {one(combined(from.x, from.op, p, 1)), "as if rank r's target were r + 1"}}
    );
    if (!result) {
        return {false, "x.grad(): " + result.text};
    }
    // rate times gradient is rounded, and so is the difference: its last bit may be another one
    result = same(
        after.data, one(from.x - from.rate * gradient), rounding + 1e-7,
        {{one(from.x), "x has not moved: did a copy of it?"},
         {one(from.x - from.rate * own),
          "x took a step by this rank's own gradient: each rank has a model of its own now"},
         {one(from.x + from.rate * gradient), "x went uphill: a step goes against the gradient"},
         {one(from.x - gradient), "x took a step by the whole gradient: what is rate for?"}}
    );
    return result ? result : Comparison{false, "x: " + result.text};
}

/// x before a call: far from all targets.
float start(const Call& call) {
    return 10 * input(1, 0, call.salt)[0];
}

const Attempt kAttempt{
    .name = "simple_model",
    .takes = {.op = true},
    .before = [](const Call& call, const Communicator&) { return Buffers{{start(call)}}; },
    .call =
        [](Buffers& b, const Call& call, const Communicator& comm) {
            const at::Tensor x = leaf(b.data[0]);
            simple_model(x, kRate, call.op, comm);
            b = numbers(x);
        },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& comm
               ) { return stepped(b, {.x = start(call), .op = call.op}, comm); },
    .note =
        [](const Call& call, const Communicator&) {
            return "x = " + std::to_string(static_cast<int>(start(call))) + ", rate 0.25";
        }};

const std::vector<Call> kCalls = {
    {.n = 1, .op = ReduceOp::mean, .salt = 1},
    {.n = 1, .op = ReduceOp::sum, .salt = 2},
};

}  // namespace

TEST_CASE("simple_model takes x from 2 to 1.7 by the mean of 4 and 2, and to 1.4 by their sum") {
    on_ranks({2}, [](const Communicator& comm) {
        for (const ReduceOp op : {ReduceOp::mean, ReduceOp::sum}) {
            const at::Tensor x = leaf(2);
            simple_model(x, 0.1, op, comm);
            INFO("x = 2, and rank r minimises (x - r)^2: the gradients are 4 and 2");
            INFO("their " << name(op) << " is asked for, and a step of rate 0.1");
            const Comparison result = stepped(numbers(x), {.rate = 0.1, .op = op}, comm);
            CHECK(result);
        }
    });
}

TEST_CASE("simple_model takes the same step on every rank, however many there are") {
    every_call(kAttempt, kCalls);
}

TEST_CASE("simple_model takes every step by a new gradient") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const float old : {100.0F, INFINITY, NAN}) {
            const at::Tensor x = leaf(2);
            x.mutable_grad() = at::full({}, old, at::kFloat);
            for (const ReduceOp op : {ReduceOp::mean, ReduceOp::sum}) {
                const Buffers before = numbers(x);
                const Step from{before.data[0], kRate, op, before.out.empty() ? 0 : before.out[0]};
                simple_model(x, kRate, op, comm);
                INFO("x.grad() held " << from.old_gradient << " before this step");
                const Comparison result = stepped(numbers(x), from, comm);
                CHECK(result);
            }
        }
    });
}

TEST_CASE("simple_model leaves one number as it is while another one is trained") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const at::Tensor x = leaf(2);
        const at::Tensor y = leaf(50);
        for (int step = 0; step < 2; ++step) {
            const double from = elements(x)[0];
            simple_model(x, kRate, ReduceOp::mean, comm);
            simple_model(y, kRate, ReduceOp::sum, comm);
            INFO("a step of x, then one of another number, and then a look at x: do both share");
            INFO("a gradient, or anything else that outlives a call?");
            const Comparison result = stepped(numbers(x), {.x = from}, comm);
            CHECK(result);
        }
    });
}

TEST_CASE("simple_model brings x to the mean of all targets, step by step") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        const int p = comm.size();
        const double middle = (p - 1) / 2.0;
        for (const ReduceOp op : {ReduceOp::mean, ReduceOp::sum}) {
            const double rate = op == ReduceOp::mean ? kRate : kRate / p;
            const at::Tensor x = leaf(-6);
            for (int step = 0; step < 25; ++step) {
                simple_model(x, rate, op, comm);
            }
            INFO("25 steps by the " << name(op) << " from x = -6, at rate " << rate);
            INFO("each halves the way to " << middle << ", the mean of 0 to " << p - 1);
            const Comparison result = same(
                elements(x), one(middle), 1e-6,
                {{one(comm.rank()), "that is this rank's own target: it went there alone"},
                 {one(middle + 1), "as if rank r's target were r + 1"}}
            );
            CHECK(result);
        }
    });
}

TEST_CASE("simple_model changes x where it lies, whatever its shape") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {1}, {1, 1}}) {
            const at::Tensor row = at::full({3}, 2, at::kFloat);
            const at::Tensor x = row.narrow(0, 1, 1).view(shape).requires_grad_();
            simple_model(x, kRate, ReduceOp::mean, comm);
            INFO("shape " << at::IntArrayRef(shape) << "; an optimizer holds x's memory as well");
            const Comparison result = stepped(numbers(x), {}, comm);
            CHECK(result);
            const float moved = elements(x)[0];
            const Comparison in_place = same(
                elements(row), std::vector{2.0F, moved, 2.0F}, 0.0,
                {{{2, 2, 2}, "x lies somewhere else now; who holds the old memory goes on with it"}}
            );
            CHECK(in_place);
            CHECK(x.sizes() == shape);
            CHECK(x.grad().sizes() == shape);
        }
    });
}

TEST_CASE("simple_model leaves a leaf that can be trained on, and autograd as it was") {
    on_ranks({2}, [](const Communicator& comm) {
        const c10::AutoGradMode on(true);  // whatever a call before has left
        const at::Tensor x = leaf(2);
        simple_model(x, kRate, ReduceOp::mean, comm);
        {
            INFO("x stays a leaf that requires a gradient, or it can no longer be trained");
            CHECK(x.is_leaf());
            CHECK(x.requires_grad());
        }
        INFO("autograd is switched off for the step, and on again: c10::AutoGradMode does both");
        CHECK(c10::GradMode::is_enabled());
    });
}

TEST_CASE("simple_model sends one float around the ring, and nothing else") {
    on_ranks(kWorlds, [](const Communicator& comm) {
        const long steps = 2L * (comm.size() - 1);
        const at::Tensor x = leaf(2);
        const Traffic traffic = record(comm, [&] { simple_model(x, kRate, ReduceOp::mean, comm); });
        INFO("one ring_all_reduce of the gradient; x moves alike on all ranks without a word");
        CHECK(within(
            traffic, {.messages_sent = at_most(steps),
                      .bytes_sent = at_most(steps * float_bytes(1)),
                      .among = neighbours(comm)}
        ));
    });
}

TEST_CASE("simple_model refuses other operations, and an x that is not one number") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const auto refused = [&](const at::Tensor& x, ReduceOp op) {
            x.requires_grad_();
            x.mutable_grad() = at::full(x.sizes(), 100, at::kFloat);  // of a step before
            refuses(
                comm, std::string(name(op)) + " of " + counted(x.numel(), "element"),
                [&] { simple_model(x, kRate, op, comm); }, as_now({x})
            );
        };
        refused(leaf(2), ReduceOp::product);
        refused(leaf(2), ReduceOp::min);
        refused(leaf(2), ReduceOp::max);
        refused(at::full({2}, 2, at::kFloat), ReduceOp::mean);
        refused(at::full({0}, 2, at::kFloat), ReduceOp::sum);
    });
}

TEST_CASE("simple_model takes ranks from the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("simple_model throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("after a message has failed x is still a leaf, and autograd as it was") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const c10::AutoGradMode on(true);
        const at::Tensor x = leaf(2);
        {
            const FailingMessages failing;
            answer(comm, [&] { simple_model(x, kRate, ReduceOp::mean, comm); });
        }
        const bool recording = c10::GradMode::is_enabled();
        c10::GradMode::set_enabled(true);
        {
            INFO("The exception passed by the line that switches on again what was off.");
            CHECK(recording);
            CHECK(x.requires_grad());
            CHECK(x.is_leaf());
        }
        const double from = elements(x)[0];
        record(comm, [&] { simple_model(x, kRate, ReduceOp::mean, comm); });
        INFO("the next step, whose messages arrive");
        const Comparison result = stepped(numbers(x), {.x = from}, comm);
        CHECK(result);
    });
}

TEST_CASE("simple_model is right on 11 ranks", "[many]") {
    every_call(kAttempt, kCalls, {11});
}
