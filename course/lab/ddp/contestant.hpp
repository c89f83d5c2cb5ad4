// Ways to make the mean of all ranks' gradients in a step of training, to be held side by side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "course/nn/batch.hpp"
#include "course/nn/model.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::lab {

/// One way, with a replica of the model to itself. All calls are collective.
class Contestant {
  public:
    /// model  the same weights on all ranks, and for all contestants.
    explicit Contestant(std::shared_ptr<nn::Model> model);
    virtual ~Contestant() = default;
    Contestant(const Contestant&) = delete;
    Contestant& operator=(const Contestant&) = delete;
    Contestant(Contestant&&) = delete;
    Contestant& operator=(Contestant&&) = delete;

    /// Gradients of this batch: zeros, forward, loss, backward, and whatever makes means of them.
    virtual void step(const nn::Batch& batch) = 0;

    [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }

  protected:
    [[nodiscard]] at::Tensor loss(const nn::Batch& batch) const;
    void zero_gradients() const;

  private:
    std::shared_ptr<nn::Model> model_;
    std::vector<at::Tensor> parameters_;
};

/// The names that make_contestant() knows, in the order of a table:
///   none      no communication: nothing can be faster
///   average   average_gradients after backward, chapter 05
///   ddp       the Reducer of chapter 06, on a thread of its own
///   pytorch   PyTorch's own c10d::Reducer, over this course's ring, on a thread of its own
///   gloo      PyTorch's own c10d::Reducer, over Gloo; where its headers are
std::vector<std::string> contestant_names();

/// limits  of buckets, in bytes.
/// comm    outlives the contestant.
///
/// Errors  std::invalid_argument for any other name.
std::unique_ptr<Contestant> make_contestant(
    const std::string& name,
    std::shared_ptr<nn::Model> model,
    const std::vector<std::size_t>& limits,
    const Communicator& comm
);

/// As make_contestant("pytorch", ...) or ("gloo", ...).
std::unique_ptr<Contestant> make_pytorch(
    const std::string& name,
    std::shared_ptr<nn::Model> model,
    const std::vector<std::size_t>& limits,
    const Communicator& comm
);

}  // namespace dist::lab
