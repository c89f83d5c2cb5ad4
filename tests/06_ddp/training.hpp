// A model under a Reducer, whose passes a test can look into.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "exercises/06_ddp/autograd_hooks.hpp"
#include "tests/06_ddp/backward.hpp"

namespace dist::harness {

inline const Sizes kLengths = {3, 2, 0, 4, 1, 2};
inline constexpr std::size_t kTwoFloats = 8;  // bytes

/// Rank `rank`'s order of gradients, for each `turn` another one. Rank 0's first is the model's backwards.
inline Sizes turned(int rank, int turn) {
    Sizes order = backwards(kLengths.size());
    const int first = (rank + turn) % static_cast<int>(order.size());
    std::rotate(order.begin(), order.begin() + first, order.end());
    return order;
}

inline std::future<void> silent(const at::Tensor& /*flat*/) {
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
inline std::vector<float> gradients_of(const Communicator& comm, int number) {
    std::vector<float> gradients = input(kLengths.size(), comm.rank(), number);
    for (float& gradient : gradients) {
        gradient *= static_cast<float>(comm.size());
    }
    return gradients;
}

/// Whether every gradient is the mean of all ranks' in this pass.
inline Comparison are_means(const Model& model, const Communicator& comm, int number) {
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

}  // namespace dist::harness
