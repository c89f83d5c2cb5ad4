// ZeRO-3, as in chapter 07: no rank has the model. Its parts are gathered while they compute.
#pragma once

#include <memory>
#include <vector>

#include "course/parallel/sharded.hpp"
#include "exercises/07_zero/zero3.hpp"

namespace dist::trainer {

class ShardedModel final : public Strategy {
  public:
    ShardedModel(
        const ParallelOptions& options, std::shared_ptr<nn::Model> model, const Communicator& comm
    );

    void zero_gradients() override;

    /// Part by part, each with its weights while it computes; in with_weights() the whole at once.
    at::Tensor forward(const at::Tensor& inputs) override;
    void prepare_for_backward(const at::Tensor& loss) override;

    /// Nothing: backward did, in its own time.
    void exchange_gradients() override;
    void step(double rate) override;
    void with_weights(const std::function<void()>& body) override;

    /// Nothing: what each rank has, no other has.
    void expect_equal(std::size_t done) const override;
    [[nodiscard]] StateDict state_dict() const override;
    void load_state_dict(const StateDict& state) override;

  private:
    const Communicator& comm_;
    Communicator messages_;  // of the parts' own
    std::shared_ptr<nn::Model> model_;
    std::vector<NamedRow> rows_;
    std::unique_ptr<Zero3> zero_;
    bool has_weights_ = false;
};

}  // namespace dist::trainer
