// What no_sync must do: gradients add up over micro-batches, and travel once.
#include "exercises/06_ddp/no_sync.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/06_ddp/backward.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/words/zoo.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "the Reducer sends what ranks exchange");

const Sizes kLengths = {3, 2, 0, 4, 1};
const Sizes kOneEach = {1};  // limit: each parameter is a bucket

std::vector<float> scaled(std::vector<float> values, float factor) {
    std::ranges::for_each(values, [factor](float& value) { value *= factor; });
    return values;
}

std::vector<float> sum(std::vector<float> a, const std::vector<float>& b) {
    std::ranges::transform(a, b, a.begin(), std::plus<>());
    return a;
}

/// k micro-batches of one rank. Their gradients are whole numbers times k and p.
struct Batch {
    Batch(const Model& model, int k, int rank, int p, std::uint64_t salt) {
        const std::size_t n = model.parameters.size();
        for (int j = 0; j < k; ++j) {
            const auto factor = static_cast<float>(k * p);
            const auto gradients = scaled(input(n, rank, salt + j), factor);
            parts.emplace_back([&model, n, gradients] {
                return model.loss(backwards(n), gradients);
            });
            own = sum(own, scaled(gradients, 1.0F / static_cast<float>(k)));
            mean = sum(mean, reduced_input(n, p, ReduceOp::sum, salt + j));
        }
    }

    std::vector<MicroBatch> parts;
    // their mean, and that over all ranks
    std::vector<float> own = std::vector<float>(kLengths.size());
    std::vector<float> mean = std::vector<float>(kLengths.size());
};

/// The loss of a Model with these gradients: each element is 1.
float loss_of(const std::vector<float>& gradients) {
    float loss = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        loss += gradients[i] * static_cast<float>(kLengths[i]);
    }
    return loss;
}

/// Calls in a row with one Reducer, whose gradients hold something before each.
void accumulates(const std::vector<int>& worlds) {
    on_ranks(worlds, [](const Communicator& comm) {
        const int p = comm.size();
        for (const int k : {2, 1, 3}) {
            const Model model(kLengths);
            const std::size_t n = model.parameters.size();
            Reducer reducer(model.parameters, {8}, all_reduce_hook(comm), comm);
            for (int call = 0; call < 3; ++call) {
                INFO("call " << call + 1 << " of 3, " << k << " micro-batches");
                const Batch batch(model, k, comm.rank(), p, 10 * call);
                forget_gradients(model.parameters);
                const auto before = scaled(input(n, comm.rank(), 99), static_cast<float>(p));
                const auto held = reduced_input(n, p, ReduceOp::sum, 99);  // the mean of that
                model.backward(backwards(n), before);
                const at::Tensor loss = accumulate_gradients(reducer, batch.parts);
                const auto times = static_cast<float>(k);
                const Comparison gradients = same(
                    model.each_gradient(), model.of_each(sum(held, batch.mean)), kRounding,
                    {{model.of_each(batch.mean), "what gradients held before the call is gone"},
                     {model.of_each(sum(held, scaled(batch.mean, times))),
                      "that is the sum over the micro-batches, not their mean"},
                     {model.of_each(sum(before, batch.own)),
                      "that is this rank's own gradient: it met no other"}}
                );
                const Comparison losses = same(
                    elements(loss), std::vector<float>{loss_of(batch.own)}, kRounding,
                    {{{loss_of(batch.own) * times},
                      "that is the sum of the losses, not their mean"},
                     {{loss_of(batch.own) / times}, "that is the mean divided by k once more"}}
                );
                CHECK(gradients);
                INFO("what it returned: the mean loss of this rank's micro-batches");
                CHECK(losses);
                CHECK(loss.dim() == 0);
            }
        }
    });
}

}  // namespace

TEST_CASE("no_sync adds the mean over micro-batches and ranks to what gradients hold") {
    accumulates({3, 1, 2, 4, 5});
}

TEST_CASE("no_sync sends what one pass sends, whatever the number of micro-batches") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        for (const int k : {1, 2, 4}) {
            const Model model(kLengths);
            const Model other(kLengths);
            Reducer reducer(model.parameters, kOneEach, all_reduce_hook(comm), comm);
            Reducer others(other.parameters, kOneEach, all_reduce_hook(comm), comm);
            for (int call = 0; call < 3; ++call) {  // in the second the order of gradients travels
                const Batch batch(model, k, comm.rank(), comm.size(), 0);
                INFO(
                    "call " << call + 1 << " of 3, " << k << " micro-batches: which of their "
                            << "backwards exchange gradients?"
                );
                const Traffic one = record(comm, [&] {
                    others.prepare_for_backward();
                    other.backward(backwards(kLengths.size()), batch.own);
                    others.finalize_backward();
                });
                const Traffic all =
                    record(comm, [&] { accumulate_gradients(reducer, batch.parts); });
                CHECK(within(
                    all, {.messages_sent = exactly(one.messages_sent),
                          .bytes_sent = exactly(one.bytes_sent)}
                ));
            }
        }
    });
}

TEST_CASE("no_sync calls each micro-batch once, when the graph of the one before is freed") {
    on_ranks({1}, [](const Communicator& comm) {
        const Model model(kLengths);
        Reducer reducer(model.parameters, kOneEach, all_reduce_hook(comm), comm);
        std::string calls;
        std::weak_ptr<int> graph;  // expires with the graph of the micro-batch before
        std::vector<at::Tensor> losses;
        std::vector<MicroBatch> parts;
        for (int j = 0; j < 4; ++j) {
            parts.emplace_back([&, j] {
                const auto come = static_cast<int>(losses.size() * kLengths.size());
                calls += (calls.empty() ? "" : ", ") + std::to_string(j);
                calls += model.gradients_come() < come ? " before the backward of the one before"
                         : graph.expired()             ? ""
                                                       : " beside the graph of the one before";
                const at::Tensor loss = model.loss(backwards(5), {1, 2, 3, 4, 5});
                auto held = std::make_shared<int>();
                graph = held;
                loss.register_hook([held](const at::Tensor&) {});
                losses.push_back(loss.detach());
                return loss;
            });
        }
        accumulate_gradients(reducer, parts);
        CHECK(calls == "0, 1, 2, 3");
        INFO("after the call: does somebody keep the last loss, and with it its graph?");
        CHECK(graph.expired());
        INFO("the loss that the first micro-batch returned, after the call");
        CHECK(losses[0].item<float>() == loss_of({1, 2, 3, 4, 5}));
    });
}

TEST_CASE("no_sync returns a loss without a graph, when every bucket is through") {
    on_ranks({1}, [](const Communicator& comm) {
        const Model model(kLengths);
        int under_way = 0;
        const auto hook = [&](const at::Tensor&) {
            ++under_way;
            return std::async(std::launch::deferred, [&] { --under_way; });
        };
        Reducer reducer(model.parameters, kOneEach, hook, comm);
        const Batch batch(model, 2, 0, 1, 0);
        const at::Tensor loss = accumulate_gradients(reducer, batch.parts);
        const std::vector<float> first = elements(loss);
        const Model other(kLengths);
        Reducer others(other.parameters, kOneEach, hook, comm);
        accumulate_gradients(others, Batch(other, 3, 0, 1, 5).parts);
        INFO("the loss of this call, after another call with another model");
        CHECK(same(elements(loss), first));
        CHECK_FALSE(loss.requires_grad());
        INFO("buckets that nobody has waited for");
        CHECK(under_way == 0);
    });
}

TEST_CASE("of one micro-batch alone, no_sync returns a mean that is the caller's as well") {
    on_ranks({1}, [](const Communicator& comm) {
        const Model model(kLengths);
        Reducer reducer(model.parameters, kOneEach, all_reduce_hook(comm), comm);
        at::Tensor held;
        const std::vector<MicroBatch> one = {[&] {
            held = model.loss(backwards(5), {1, 2, 3, 4, 5});
            return held;
        }};
        const at::Tensor mean = accumulate_gradients(reducer, one);
        mean.fill_(-1);
        INFO("the loss that the micro-batch returned, when the caller has changed the mean");
        CHECK(held.item<float>() == loss_of({1, 2, 3, 4, 5}));
    });
}

TEST_CASE("no_sync refuses to begin without a micro-batch, and sends nothing") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const Model model(kLengths);
        Reducer reducer(model.parameters, kOneEach, all_reduce_hook(comm), comm);
        const auto call = [&] { accumulate_gradients(reducer, {}); };
        refuses(comm, "no micro-batch", call, as_now(model.parameters));
    });
}

TEST_CASE("no_sync lets out what a micro-batch throws, and leaves no backward prepared") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        const Model model(kLengths);
        Reducer reducer(model.parameters, {8}, all_reduce_hook(comm), comm);
        const Batch batch(model, 4, comm.rank(), comm.size(), 0);
        const Settings settings(model.parameters);
        const auto call = [&](const Bomb& bomb) {
            std::vector<MicroBatch> parts;
            for (const MicroBatch& part : batch.parts) {
                parts.emplace_back([=] {
                    bomb();
                    return part();
                });
            }
            accumulate_gradients(reducer, parts);
        };
        everything_throws(4, call, [&] {
            const Comparison left = settings.unchanged();
            const Traffic traffic =
                record(comm, [&] { model.backward(backwards(kLengths.size()), batch.own); });
            if (traffic.messages_sent > 0) {
                return Comparison{false, "a backward was still prepared: it sent messages"};
            }
            forget_gradients(model.parameters);
            accumulate_gradients(reducer, batch.parts);
            return left ? same(model.each_gradient(), model.of_each(batch.mean), kRounding) : left;
        });
    });
}

TEST_CASE(
    "no_sync lets out what backward, the hook and its future throw, and the next call is as ever"
) {
    on_ranks({1}, [](const Communicator& comm) {
        const Model model(kLengths);
        std::function<void()> bomb = [] {};
        const auto hook = [&](const at::Tensor&) {
            bomb();
            return std::async(std::launch::deferred, [&] { bomb(); });
        };
        Reducer reducer(model.parameters, {1000}, hook, comm);
        Batch batch(model, 2, 0, 1, 0);
        for (MicroBatch& part : batch.parts) {
            part = [&bomb, part] {
                const at::Tensor loss = part();
                loss.register_hook([&bomb](const at::Tensor&) { bomb(); });
                return loss;
            };
        }
        const Settings settings(model.parameters);
        const auto call = [&](const std::function<void()>& what) {
            bomb = what;
            forget_gradients(model.parameters);
            accumulate_gradients(reducer, batch.parts);
        };
        everything_throws(4, call, [&] {  // two backwards, the hook, its future
            const Comparison left = settings.unchanged();
            int calls = 0;
            bomb = [&] { ++calls; };
            model.backward(backwards(kLengths.size()), batch.own);
            if (calls > 0) {
                return Comparison{
                    false,
                    "a backward was still prepared: it called the hook. Forget the pass that "
                    "failed"};
            }
            call([] {});
            return left ? same(model.each_gradient(), model.of_each(batch.mean), kRounding) : left;
        });
    });
}

TEST_CASE("no_sync is right on 11 ranks", "[many]") {
    accumulates({11});
}
