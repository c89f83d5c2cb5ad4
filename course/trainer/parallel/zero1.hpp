// ZeRO-1, as in chapter 07: each rank steps its shard of the parameters, and keeps the optimizer's state of no
// other.
#pragma once

#include <memory>

#include "course/trainer/parallel/whole_model.hpp"
#include "exercises/07_zero/zero1.hpp"

namespace dist::trainer {

class ShardedOptimizer final : public WholeModel {
  public:
    ShardedOptimizer(
        const Options& options, std::shared_ptr<nn::Model> model, const Communicator& comm
    );

    void zero_gradients() override;

    /// Nothing: the step exchanges them, and its messages count as the optimizer's time.
    void exchange_gradients() override;
    void step(double rate) override;

    /// The shards of what the optimizer keeps are collected.
    [[nodiscard]] StateDict state_dict() const override;
    void load_state_dict(const StateDict& state) override;

  private:
    std::unique_ptr<Zero1> optimizer_;
};

}  // namespace dist::trainer
