// What autograd_hooks must do: hooks count gradients, buckets leave in one order on every rank, and come back as means.
#include "exercises/06_ddp/autograd_hooks.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "course/runtime/seeded.hpp"
#include "tests/06_ddp/backward.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/lives.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Sizes kLengths = {3, 2, 0, 4, 1, 2};

constexpr std::size_t kTwoFloats = 8;

// bytes

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
    std::function<void(int number)> when_waited_for = [](int) {};
};

/// This rank's, for each parameter, another one in each pass: p times a whole number, so that the
/// mean over all ranks is one.
std::vector<float> gradients_of(const Communicator& comm, int number) {
    std::vector<float> gradients = input(kLengths.size(), comm.rank(), number);
    for (float& gradient : gradients) {
        gradient *= static_cast<float>(comm.size());
    }
    return gradients;
}

/// Whether every gradient is the mean of all ranks' in this pass.
Comparison are_means(const Model& model, const Communicator& comm, int number) {
    const auto p = static_cast<float>(comm.size());
    const auto mean = reduced_input(kLengths.size(), comm.size(), ReduceOp::sum, number);
    const auto before = reduced_input(kLengths.size(), comm.size(), ReduceOp::sum, number - 1);
    const std::vector<float> own = gradients_of(comm, number);
    std::vector<float> share = own;
    std::vector<float> sum = mean;
    std::vector<float> twice = mean;
    std::vector<float> added = mean;
    for (std::size_t i = 0; i < mean.size(); ++i) {
        share[i] /= p;
        sum[i] *= p;
        twice[i] /= p;
        added[i] += p * before[i];
    }
    return same(
        model.each_gradient(), model.of_each(mean), kRounding,
        {{model.of_each(own),
          "that is this rank's own: it met no other, or its sum lies elsewhere"},
         {model.of_each(share), "that is a p-th of this rank's own: it met no other"},
         {model.of_each(sum), "that is the sum of all ranks' gradients, not their mean"},
         {model.of_each(twice), "that is the mean, divided by p once more"},
         {model.of_each(added), "as if added to the mean of the pass before"}}
    );
}

/// A model under a Reducer, and beside it what the gradients hold: of each rank, of all parameters in a row. On
/// odd ranks matrices are laid out the other way round.
class ReducerLife {
  public:
    ReducerLife(const Communicator& comm, std::uint64_t draw) : comm_(comm), draw_(draw) {
        for (const auto& shape : kShapes) {
            at::Tensor parameter = at::full(shape, 1, at::kFloat);
            if (shape.size() == 2 && comm.rank() % 2 == 1) {
                parameter = at::full({shape[1], shape[0]}, 1, at::kFloat).t();
            }
            parameters_.push_back(parameter.requires_grad_());
        }
        for (int rank = 0; rank < comm.size(); ++rank) {
            held_.push_back(at::zeros({static_cast<std::int64_t>(count(parameters_))}));
        }
        plan_ = backwards(parameters_.size());
        const auto hook = [this, sum = all_reduce_hook(comm)](const at::Tensor& flat) {
            called_for_.push_back(flat.numel());
            is_on_this_thread_ = is_on_this_thread_ && std::this_thread::get_id() == thread_;
            return sum(flat);
        };
        reducer_.emplace(parameters_, limits_, hook, comm);
    }

    [[nodiscard]] bool is_prepared() const { return prepared_; }
    [[nodiscard]] bool can_prepare() const { return !prepared_ || !came_; }
    [[nodiscard]] bool can_run() const { return !prepared_ || !came_; }
    [[nodiscard]] bool can_finalize() const { return !prepared_ || came_; }

    Comparison throw_away() {
        forget_gradients(parameters_);
        std::ranges::for_each(held_, [](at::Tensor& all) { all = at::zeros_like(all); });
        return compared();
    }

    /// Gradients with gaps between their elements.
    Comparison move_elsewhere() {
        for (const at::Tensor& parameter : parameters_) {
            at::Tensor& gradient = parameter.mutable_grad();
            if (gradient.defined()) {
                gradient = at::stack({gradient, gradient.neg()}, -1).select(-1, 0);
            }
        }
        return compared();
    }

    Comparison prepare() {
        const long order = is_order_due() && comm_.rank() == 0 ? comm_.size() - 1 : 0;
        begin_pass(true);
        const Traffic traffic = record(comm_, [&] { reducer_->prepare_for_backward(); });
        if (traffic.counted && traffic.messages_sent != order) {
            return {
                false, "prepare_for_backward() sent " + counted(traffic.messages_sent, "message") +
                           ", and the order, where it is due, takes " + std::to_string(order)};
        }
        return compared();
    }

    /// Buckets that leave at once on one rank leave in backward on another: no life ends between these two.
    Comparison prepare_with_unused_and_run() {
        begin_pass(false);
        reducer_->prepare_for_backward(unused_on(comm_.rank()));
        return run();
    }

    /// Backward on every rank, without the parameters that are unused there.
    Comparison run() {
        ++salt_;
        for (int rank = 0; rank < comm_.size(); ++rank) {
            for (const std::size_t i : order_on(rank)) {
                of(held_[rank], i).add_(of(gradients_on(rank), i));
            }
        }
        const Sizes order = order_on(comm_.rank());
        at::Tensor loss = at::zeros({}, at::kFloat);
        for (auto i = order.rbegin(); i != order.rend(); ++i) {  // backward begins with the last
            loss = loss.add(parameters_[*i].mul(of(gradients_on(comm_.rank()), *i)).sum());
        }
        if (!order.empty()) {
            loss.backward();
        }
        came_ = prepared_;
        return prepared_ ? Comparison{} : compared();
    }

    Comparison finalize() {
        reducer_->finalize_backward();
        if (!prepared_) {
            return compared();
        }
        came_on_0_ = none_unused_ ? Sizes{} : unused_on(0);
        const Sizes order = order_on(0);
        came_on_0_.insert(came_on_0_.end(), order.begin(), order.end());
        prepared_ = false;
        const at::Tensor mean = at::stack(held_).sum(0).div(comm_.size());
        std::ranges::for_each(held_, [&](at::Tensor& all) { all = mean.clone(); });
        all_were_ready_ = true;
        const auto buckets = gradient_buckets(parameters_, plan_, limits_);
        std::vector<std::int64_t> lengths;
        for (const Bucket& bucket : buckets) {
            lengths.push_back(0);
            for (const std::size_t i : bucket) {
                lengths.back() += parameters_[i].numel();
            }
        }
        const std::string planned = text_of(buckets);
        const std::string got = text_of(reducer_->buckets());
        if (got != planned) {
            return {false, "the plan is " + got + ", where " + planned + " is right"};
        }
        if (called_for_ != lengths) {
            return {false, "the hook was not called once for each bucket, in their order"};
        }
        if (!is_on_this_thread_) {
            return {false, "the hook was called on another thread than backward's"};
        }
        return compared();
    }

  private:
    /// A part of a row as long as all parameters: parameter i's.
    [[nodiscard]] at::Tensor of(const at::Tensor& row, std::size_t i) const {
        const auto first = static_cast<std::ptrdiff_t>(i);
        const auto begin = count({parameters_.data(), parameters_.data() + first});
        return row.narrow(0, static_cast<std::int64_t>(begin), parameters_[i].numel())
            .view(parameters_[i].sizes());
    }

    [[nodiscard]] bool is_order_due() const { return all_were_ready_ && !planned_anew_; }

    /// Before a pass: the order of the pass before may be the new plan.
    void begin_pass(bool none_unused) {
        if (is_order_due()) {
            planned_anew_ = true;
            plan_ = came_on_0_;
        }
        prepared_ = true;
        came_ = false;
        all_were_ready_ = false;
        none_unused_ = none_unused;
        pass_ += 1;
        called_for_.clear();
    }

    /// In this pass: drawn, another set on each rank.
    [[nodiscard]] Sizes unused_on(int rank) const {
        Sizes unused;
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            if (seeded_bits(draw_ + pass_, 100 * static_cast<std::uint64_t>(rank) + i) % 2 == 0) {
                unused.push_back(i);
            }
        }
        return unused;
    }

    /// Of all parameters, in the backward that is running: p times whole numbers.
    [[nodiscard]] at::Tensor gradients_on(int rank) const {
        return filled(held_[0].sizes(), rank, salt_).mul(static_cast<float>(comm_.size()));
    }

    /// In which gradients come in this pass: another one on each rank.
    [[nodiscard]] Sizes order_on(int rank) const {
        Sizes order = backwards(parameters_.size());
        const auto first = static_cast<std::ptrdiff_t>((pass_ + rank) % order.size());
        std::rotate(order.begin(), order.begin() + first, order.end());
        if (prepared_ && !none_unused_) {
            const Sizes unused = unused_on(rank);
            std::erase_if(order, [&](std::size_t i) { return std::ranges::count(unused, i) > 0; });
        }
        return order;
    }

    /// Whether gradients hold on this rank what they have to; one that is not there holds zeros.
    [[nodiscard]] Comparison compared() const {
        std::vector<float> got;
        for (const at::Tensor& parameter : parameters_) {
            const at::Tensor& gradient = parameter.grad();
            const auto one = elements(gradient.defined() ? gradient : at::zeros_like(parameter));
            got.insert(got.end(), one.begin(), one.end());
        }
        return same(got, elements(held_[comm_.rank()]), kRounding);
    }

    const Communicator& comm_;
    std::uint64_t draw_;
    std::vector<at::Tensor> parameters_;
    Sizes limits_ = {16, 40};
    std::vector<at::Tensor> held_;
    Sizes plan_;       // the order that buckets are made of
    Sizes came_on_0_;  // in the pass before, on rank 0
    std::uint64_t salt_ = 0;
    std::uint64_t pass_ = 0;
    bool prepared_ = false;
    bool came_ = false;  // in this pass, backward has been
    bool none_unused_ = true;
    bool all_were_ready_ = false;  // in the pass before
    bool planned_anew_ = false;
    std::vector<std::int64_t> called_for_;  // lengths of buckets, in this pass
    std::thread::id thread_ = std::this_thread::get_id();
    bool is_on_this_thread_ = true;
    std::optional<Reducer> reducer_;
};

std::vector<Step> steps_of_a_reducer(const Communicator& comm, std::uint64_t draw) {
    const auto life = std::make_shared<ReducerLife>(comm, draw);
    const auto between = [=] { return !life->is_prepared(); };
    return {
        {"prepare", [=] { return life->can_prepare(); }, [=] { return life->prepare(); }},
        {"prepare with unused parameters and backward", between,
         [=] { return life->prepare_with_unused_and_run(); }},
        {"backward", [=] { return life->can_run(); }, [=] { return life->run(); }},
        {"finalize", [=] { return life->can_finalize(); }, [=] { return life->finalize(); }},
        {"gradients thrown away", between, [=] { return life->throw_away(); }},
        {"gradients with gaps", between, [=] { return life->move_elsewhere(); }}};
}

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
    on_ranks({3, 5}, [](const Communicator& comm) {
        const std::vector<at::Tensor> parameters = {
            at::ones({}).requires_grad_(), at::ones({2}).requires_grad_()};
        Reducer reducer(parameters, {1}, all_reduce_hook(comm), comm);
        for (int step = 1; step <= 8; ++step) {
            reducer.prepare_for_backward();
            for (const at::Tensor& parameter : parameters) {
                parameter.mutable_grad().reset();
                parameter.mul(1.0 / (7 * step)).sum().backward();
            }
            reducer.finalize_backward();
            INFO("every gradient is 1 / " << 7 * step << "; divided by p in float, all of them");
            CHECK(same(
                elements(parameters[0].grad().view(-1)),
                elements(parameters[1].grad().narrow(0, 0, 1))
            ));
        }
    });
}

TEST_CASE("gradients may be thrown away, set to zero, kept, or lie elsewhere: they are moved") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        std::vector<at::Tensor> flats;
        Training training({1, 2}, 1, comm, [&](const at::Tensor& flat) {
            flats.push_back(flat);
            return all_reduce_hook(comm)(flat);
        });
        const auto p = static_cast<float>(comm.size());
        const auto own = static_cast<float>(comm.rank() + 1);
        const float mean = (p + 1) / 2;  // of 1, ..., p
        float held = 0;
        for (const std::string before : {"zero", "thrown away", "zero", "kept", "elsewhere"}) {
            for (const at::Tensor& x : training.model.parameters) {
                at::Tensor& gradient = x.mutable_grad();
                gradient = before == "thrown away" ? at::Tensor()
                           : before == "elsewhere" ? gradient.clone()
                           : before == "zero"      ? gradient.zero_()
                                                   : gradient;
            }
            held = before == "zero" || before == "thrown away" ? 0 : held;
            INFO("gradients of the pass before are " << before);
            training.reducer->prepare_for_backward();
            training.model.backward({1, 0}, {own, own});
            training.reducer->finalize_backward();
            const auto each = [](float value) { return std::vector<float>(3, value); };
            const Comparison means = same(
                training.model.each_gradient(), each(held + mean), kRounding,
                {{each(held + own),
                  "that is this rank's own: it met no other, or its sum lies elsewhere"},
                 {each((held + mean) * p), "that is the sum of all ranks', not their mean"}}
            );
            held += mean;
            CHECK(means);
        }
        for (const at::Tensor& flat : flats) {
            flat.fill_(-1);
        }
        INFO("-1 was written to the flat tensors: the gradients are parts of them");
        CHECK(same(training.model.each_gradient(), std::vector<float>(3, -1)));
    });
}

TEST_CASE("p ranks have the gradients that one process has of the whole batch") {
    on_ranks({1, 2, 3, 4}, [](const Communicator& comm) {
        const at::Tensor x = filled({2 * comm.size(), 3}, 0, 1);
        const at::Tensor y = filled({2 * comm.size(), 1}, 0, 2);
        const auto layer = [](at::IntArrayRef shape) {
            return filled(shape, 0, 3).mul(0.1).requires_grad_();
        };
        const auto backward = [&](const auto& weights, std::int64_t begin, std::int64_t rows) {
            const at::Tensor out = x.narrow(0, begin, rows).matmul(weights[0]).tanh();
            out.matmul(weights[1]).sub(y.narrow(0, begin, rows)).square().mean().backward();
        };
        const std::vector<at::Tensor> alone = {layer({3, 4}), layer({4, 1})};
        backward(alone, 0, x.size(0));
        const std::vector<at::Tensor> together = {layer({3, 4}), layer({4, 1})};
        Reducer reducer(together, {kTwoFloats}, all_reduce_hook(comm), comm);
        for (int pass = 0; pass < 2; ++pass) {
            forget_gradients(together);
            reducer.prepare_for_backward();
            backward(together, 2 * comm.rank(), 2);
            reducer.finalize_backward();
        }
        for (std::size_t i = 0; i < alone.size(); ++i) {
            CHECK(same(elements(together[i].grad()), elements(alone[i].grad()), 1e-5));
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
    on_ranks({1, 2}, [](const Communicator& comm) {
        const Model model({1, 2});
        model.backward(backwards(2), {5, 6});
        Reducer reducer(model.parameters, {1}, all_reduce_hook(comm), comm);
        const std::vector<float> kept = model.each_gradient();
        reducer.prepare_for_backward();
        model.backward(backwards(2), {10, 20});
        reducer.finalize_backward();
        INFO("gradients of 5 and 6, then a Reducer, and a pass that adds 10 and 20");
        CHECK(same(kept, std::vector<float>{5, 6, 6}));
        CHECK(same(
            model.each_gradient(), std::vector<float>{15, 26, 26}, kRounding,
            {{{10, 20, 20}, "that is what this pass brought alone"}}
        ));
    });
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
        const auto missing = error_of([&] { training.reducer->finalize_backward(); });
        CHECK(missing == "logic_error with 0, 2");
        {
            INFO("a bucket has left, but other ranks may never answer: nothing is waited for");
            CHECK(training.waited == 0);
        }
        training.reducer->prepare_for_backward();
        CHECK(only(3) == "nothing");
        training.lengths.clear();
        training.pass(backwards(4), {1, 1, 1, 1});
        INFO("lengths of the buckets of a pass after one that was not finalized");
        CHECK(training.lengths == std::vector<std::int64_t>{1, 1, 1, 1});
        training.reducer->prepare_for_backward();
        INFO("a gradient comes twice, and its bucket waits for others: it is an error all the same"
        );
        CHECK(only(0) == "nothing");
        CHECK(only(0) == "logic_error with 0");
    });
}

TEST_CASE("after a pass in which gradients are missing, the next whole one makes the plan") {
    on_ranks({1}, [](const Communicator& comm) {
        Training training({1, 1, 1}, 1, comm);
        training.reducer->prepare_for_backward();
        training.model.backward({0, 1}, {1, 1, 1});
        CHECK(error_of([&] { training.reducer->finalize_backward(); }) == "logic_error with 2");
        training.pass({1, 2, 0}, {1, 1, 1});
        CHECK(text_of(training.reducer->buckets()) == "{2} {1} {0}");
        training.pass({0, 1, 2}, {1, 1, 1});
        INFO("the pass after a whole one has a new plan: gradients had come as 1, 2, 0");
        CHECK(text_of(training.reducer->buckets()) == "{1} {2} {0}");
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
    on_ranks({1}, [](const Communicator& comm) {
        std::function<void()> bomb;
        Training training({1, 1}, 1, comm, [&](const at::Tensor& /*flat*/) {
            bomb();
            return ready();
        });
        training.when_waited_for = [&](int /*number*/) { bomb(); };
        const Settings settings(training.model.parameters);
        const auto pass = [&](const std::function<void()>& what) {
            bomb = what;
            training.pass(backwards(2), {3, 4});
        };
        everything_throws(4, pass, [&] {  // the hook for two buckets, and two futures
            bomb = [] {};
            const Comparison left = settings.unchanged();
            // nothing is prepared after it: of a pass whose backward has ended with an error, gradients are missing
            thrown_by([&] { training.reducer->finalize_backward(); });
            const std::size_t calls = training.lengths.size();
            const auto thrown = thrown_by([&] { training.model.backward(backwards(2), {1, 1}); });
            const bool is_prepared = thrown != "nothing" || training.lengths.size() > calls;
            pass([] {});
            return !left         ? left
                   : is_prepared ? Comparison{false, "a pass is still prepared when finalize_backward() has thrown"}
                                 : same(training.model.each_gradient(), std::vector<float>{3, 4});
        });
    });
}

TEST_CASE(
    "what the hook throws for buckets of unused parameters comes out, and the next pass is as ever"
) {
    on_ranks({1}, [](const Communicator& comm) {
        std::function<void()> bomb;
        Training training({1, 1}, 1, comm, [&](const at::Tensor& /*flat*/) {
            bomb();
            return ready();
        });
        const auto pass = [&](const std::function<void()>& what) {
            bomb = what;
            training.reducer->prepare_for_backward(backwards(2));
            training.reducer->finalize_backward();  // at the latest
        };
        everything_throws(2, pass, [&] {
            bomb = [] {};
            training.pass(backwards(2), {3, 4});
            return same(training.model.each_gradient(), std::vector<float>{3, 4});
        });
    });
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
    on_ranks({2, 1}, [](const Communicator& comm) {
        const auto p = static_cast<float>(comm.size());
        std::vector<at::Tensor> parameters;
        for (const at::ScalarType dtype :
             {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kHalf}) {
            parameters.push_back(at::full({2}, 1, dtype).requires_grad_());
        }
        const auto in_float = [sum = all_reduce_hook(comm)](const at::Tensor& flat) {
            const at::Tensor floats = flat.to(at::kFloat);
            sum(floats).get();
            flat.copy_(floats);
            return ready();
        };
        Reducer reducer(parameters, {1000}, in_float, comm);
        for (int pass = 0; pass < 2; ++pass) {
            forget_gradients(parameters);
            reducer.prepare_for_backward();
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                parameters[i].mul(p * static_cast<float>(i + 1)).sum().backward();
            }
            reducer.finalize_backward();
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                const at::Tensor& gradient = parameters[i].grad();
                INFO("parameter " << i << " of half, bfloat16, float, double and half");
                CHECK(gradient.scalar_type() == parameters[i].scalar_type());
                CHECK(same(
                    elements(gradient.to(at::kFloat)),
                    std::vector<float>(2, p * static_cast<float>(i + 1))
                ));
            }
        }
    });
}

TEST_CASE("the Reducer refuses what is no leaf with a gradient, or stands twice") {
    on_ranks({1}, [](const Communicator& comm) {
        const Model model({1, 1});
        const at::Tensor& good = model.parameters[0];
        const at::Tensor& another = model.parameters[1];
        for (const at::Tensor& other : {good, good.detach(), good.mul(2)}) {
            const std::vector<at::Tensor> wrong = {good, another, other};
            CHECK_THROWS_AS(Reducer(wrong, {1}, silent, comm), std::invalid_argument);
        }
        CHECK_THROWS_AS(Reducer({good}, {}, silent, comm), std::invalid_argument);
        INFO("what is refused leaves the gradients as they were: not there");
        CHECK_FALSE(good.grad().defined());
        const at::Tensor twin = good.detach().requires_grad_();
        const at::Tensor empty = at::zeros({0}).requires_grad_();
        const at::Tensor empty_too = at::zeros({0}).requires_grad_();
        INFO(
            "another leaf in the same memory, and two without elements, are parameters of their own"
        );
        CHECK_NOTHROW(Reducer({good, twin, empty, empty_too}, {1}, silent, comm));
    });
}

TEST_CASE("prepare_for_backward refuses numbers that no parameter has, before any message") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        Training training({1, 1}, 1, comm);
        training.pass(backwards(2), {1, 1});  // the order is due
        const CrashMeans crash("as if a parameter was looked for that is not there");
        for (const Sizes& wrong :
             {Sizes{2}, {0, 2}, {1UL << 31U}, {1UL << 32U}, {(1UL << 53U) + 1}}) {
            const Answer refused =
                answer(comm, [&] { training.reducer->prepare_for_backward(wrong); });
            INFO("unused are " << text_of({wrong}) << ", and there are two parameters");
            CHECK(refused.what == kInvalidArgument);
            CHECK(refused.traffic.messages_sent == 0);
        }
    });
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
