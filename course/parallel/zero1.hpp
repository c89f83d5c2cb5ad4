// ZeRO-1, as in chapter 07: each rank steps its shard of the parameters, and keeps optimizer state for it alone.
#pragma once

#include <memory>

#include "course/parallel/sharded.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist::trainer {

class ShardedOptimizer final : public ShardedState {
  public:
    ShardedOptimizer(
        const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
    );

    void zero_gradients() override;

    /// Nothing: the step exchanges them.
    void exchange_gradients() override;
    void step(double rate) override;

  private:
    [[nodiscard]] nn::Optimizer& optimizer() const override { return zero_->optimizer(); }

    std::unique_ptr<Zero1> zero_;
};

}  // namespace dist::trainer
