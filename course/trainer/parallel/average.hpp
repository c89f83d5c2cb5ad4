// Data parallel, as in chapter 05: every rank has a replica, and averages its gradients.
#pragma once

#include <memory>
#include <vector>

#include <torch/optim/sgd.h>

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
    void save(torch::serialize::OutputArchive& archive) const override;
    void load(torch::serialize::InputArchive& archive) override;

  private:
    const Communicator& comm_;
    std::shared_ptr<nn::Model> model_;
    std::vector<at::Tensor> parameters_;
    torch::optim::SGD optimizer_;
};

}  // namespace dist::trainer
