// How the ranks share a model: what becomes of parameters, gradients, optimizer and checkpoint.
//
// In every step the trainer calls
//
//     zero_gradients()   forward()   [loss]   prepare_for_backward()   [backward]
//     exchange_gradients()   step()
//
// and each way of parallelism does its part in them, in one file:
//
//                 is made with             forward            exchange_gradients       step
//   average       equal replicas           the model's        all-reduce               every parameter
//   dp            threads, a replica each  on copies          nothing: backward did    every parameter
//   ddp           hooks on parameters      the model's        waits for its buckets    every parameter
//   zero1         two rows, cut in shards  the model's        nothing                  reduce-scatter, shard,
//                                                                                      all-gather
//   zero2         a row for each bucket,   the model's        nothing: backward did    shards, all-gather
//                 hooks on parameters
//   zero3         shards of its parts      gathers and frees  nothing: backward did    shards
//                                          each part          copies are averaged
//   ps            weights of servers       the model's        nothing                  push, pull: servers step
//   3d            parts of a GPT, and one  judge() does, in   that way's, or nothing   that way's
//                 of those above to share  micro-batches,
//                 them with                and backward, too
//
// With accumulation over k micro-batches exchange_gradients() and step() are
// called once in k: accumulation.hpp. Buffers, such as a normalisation's statistics, are no part of it: every
// rank has its own, whatever the way.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "course/nn/model.hpp"
#include "course/parallel/options.hpp"
#include "course/parallel/state_dict.hpp"
#include "course/parallel/state_parts.hpp"
#include "course/parallel/trace.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// What a task says of scores.
struct Judged {
    at::Tensor loss;      ///< one number, the mean over the labels: backward() goes on from here
    at::Tensor accuracy;  ///< one number: the share of labels whose score is the largest
};

using Judge = std::function<Judged(const at::Tensor& scores, const at::Tensor& labels)>;

/// All calls are collective: every rank makes them, in the same order; but forward() in with_weights().
class Strategy {
  public:
    Strategy() = default;
    virtual ~Strategy() = default;
    Strategy(const Strategy&) = delete;
    Strategy& operator=(const Strategy&) = delete;
    Strategy(Strategy&&) = delete;
    Strategy& operator=(Strategy&&) = delete;

    /// The ranks that share the examples out: of `all`, by default. Elsewhere all others see the same
    /// examples as one of these.
    [[nodiscard]] virtual const Communicator& data_ranks(const Communicator& all) const {
        return all;
    }

    /// The ranks that share a test set out, each with as many calls of forward() as it likes: the data
    /// ranks, by default. Elsewhere all others see the same examples as one of these.
    [[nodiscard]] virtual const Communicator& test_ranks(const Communicator& all) const {
        return data_ranks(all);
    }

    /// The gradients of the step before are gone.
    virtual void zero_gradients() = 0;

    /// The scores of this rank's examples, in training and in evaluation: of pictures (B, 10), of text (B, T, 256).
    virtual at::Tensor forward(const at::Tensor& inputs) = 0;

    /// What becomes of the scores in training; by default the task judges them.
    virtual Judged judge(const at::Tensor& scores, const at::Tensor& labels, const Judge& task) {
        return task(scores, labels);
    }

    /// Calls `body`, in which each of test_ranks() may call forward() as often as it likes, without autograd: the
    /// ranks' shares of a test set need not be equal.
    virtual void with_weights(const std::function<void()>& body) { body(); }

    /// Before backward, which will be called on `loss`.
    virtual void prepare_for_backward(const at::Tensor& loss) = 0;

    /// After backward: what step() needs of the gradients is their mean over all ranks. Returns when
    /// it is there; what ran beside backward took no time here.
    virtual void exchange_gradients() = 0;

    /// Scales all gradients down, so that their norm, as one vector of the whole model, is at most
    /// `limit`. Returns what it was, the same on every rank. To be called after exchange_gradients().
    ///
    /// Errors  std::logic_error, for a way that leaves no rank with whole gradients.
    virtual double clip_gradients(double limit);

    /// The optimizer's step with this learning rate.
    virtual void step(double rate) = 0;

    /// Compares what all ranks should hold alike, if anything, to the last bit.
    ///
    /// done    steps so far, for the text.
    ///
    /// Errors  Stop, on every rank.
    virtual void expect_equal(std::size_t done) const = 0;

    /// The model's tensors and the optimizer's, whole, as one process would have them; rank 0's are
    /// kept. So a run can go on in another way, and on another number of ranks.
    [[nodiscard]] virtual StateDict state_dict() const = 0;

    /// This rank's part of each of those tensors, perhaps without an element: all ranks' are the whole.
    /// Views of what is trained, where nothing has to be gathered: the next step changes them.
    [[nodiscard]] virtual std::vector<StatePart> parts() const = 0;

    /// Takes what state_dict() gave, of which each rank keeps its part.
    ///
    /// Errors  std::out_of_range if a tensor is not there, c10::Error if one has another shape.
    virtual void load_state_dict(const StateDict& state) = 0;
};

/// The way that `options` ask for. All ranks start with rank 0's weights.
///
/// trace  outlives the strategy, which tells it of its messages.
/// comm   collective: every rank of `comm` makes this call.
std::unique_ptr<Strategy> make_strategy(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    Trace& trace,
    const Communicator& comm
);

}  // namespace dist::trainer
