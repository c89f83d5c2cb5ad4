// ZeRO-3, as in chapter 07: no rank has the model. Its parts are gathered while they compute. With
// --shard-ranks several groups of ranks have a copy each: PyTorch's HSDP.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "course/parallel/flight.hpp"
#include "course/parallel/sharded.hpp"
#include "exercises/07_zero/zero3.hpp"

namespace dist::trainer {

class ShardedModel final : public Strategy {
  public:
    /// Errors  Stop, on every rank, if shard_ranks does not divide the ranks.
    ShardedModel(
        const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
    );

    void zero_gradients() override;

    /// Part by part, each with its weights while it computes; in with_weights() the whole at once.
    at::Tensor forward(const at::Tensor& inputs) override;
    void prepare_for_backward(const at::Tensor& loss) override;

    /// Averages this rank's shards over all copies. Where there is one, nothing: backward did the
    /// rest, in its own time.
    void exchange_gradients() override;
    void step(double rate) override;
    void with_weights(const std::function<void()>& body) override;

    /// Ranks with the same shards, one of each copy.
    void expect_equal(std::size_t done) const override;
    [[nodiscard]] StateDict state_dict() const override;
    [[nodiscard]] std::vector<StatePart> parts() const override;
    void load_state_dict(const StateDict& state) override;

  private:
    const Communicator& comm_;
    Communicator shards_;    // ranks that have one copy between them: neighbours
    Communicator copies_;    // ranks that have the same shards
    Communicator messages_;  // of the parts' own, over shards_
    std::shared_ptr<nn::Model> model_;
    std::vector<NamedRow> rows_;
    std::unique_ptr<Zero3> zero_;
    bool has_weights_ = false;
    std::optional<Noted> backward_;  // while it goes on
};

}  // namespace dist::trainer
