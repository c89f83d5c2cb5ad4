// Data parallel, as in chapter 05: every rank has a replica, and averages its gradients.
#pragma once

#include <memory>
#include <vector>

#include <torch/optim/optimizer.h>

#include "course/trainer/parallel/strategy.hpp"

namespace dist::trainer {

class Average final : public Strategy {
  public:
    Average(const Options& options, std::shared_ptr<nn::Model> model, const Communicator& comm);

    void zero_gradients() override;
    at::Tensor forward(const at::Tensor& pictures) override;
    void exchange_gradients() override;
    void step(double rate) override;
    void expect_equal(std::size_t done) const override;
    [[nodiscard]] StateDict state_dict() const override;
    void load_state_dict(const StateDict& state) override;

  private:
    const Communicator& comm_;
    std::shared_ptr<nn::Model> model_;
    std::vector<at::Tensor> parameters_;
    std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace dist::trainer
