// ZeRO-2, as in chapter 07: gradients meet bucket by bucket in backward, and each rank keeps its shard of them.
#pragma once

#include <memory>
#include <optional>

#include "course/parallel/flight.hpp"
#include "course/parallel/sharded.hpp"
#include "exercises/07_zero/zero2.hpp"

namespace dist::trainer {

class ShardedGradients final : public ShardedState {
  public:
    ShardedGradients(
        const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
    );

    void zero_gradients() override;
    void prepare_for_backward(const at::Tensor& loss) override;

    /// Nothing: backward did, in its own time.
    void exchange_gradients() override;
    void step(double rate) override;

  private:
    [[nodiscard]] nn::Optimizer& optimizer() const override { return zero_->optimizer(); }

    std::unique_ptr<Zero2> zero_;
    std::optional<Noted> backward_;  // while it goes on
};

}  // namespace dist::trainer
