// What ways of parallelism with equal replicas share: every rank has the whole model, and steps with the
// same gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/trainer/parallel/strategy.hpp"

namespace dist::trainer {

class Replicas : public Strategy {
  public:
    void zero_gradients() override;
    at::Tensor forward(const at::Tensor& pictures) override;

    /// Nothing: for ways that backward needs not know of.
    void prepare_for_backward(const at::Tensor& loss) override;
    void step(double rate) override;

    /// Equal weights and equal gradients make equal weights, or the gradients were not equal.
    void expect_equal(std::size_t done) const override;
    [[nodiscard]] StateDict state_dict() const override;
    void load_state_dict(const StateDict& state) override;

  protected:
    /// author  who gives the ranks their gradients: for the text of expect_equal().
    Replicas(
        const Options& options,
        std::shared_ptr<nn::Model> model,
        const Communicator& comm,
        std::string author
    );

    [[nodiscard]] const Communicator& comm() const { return comm_; }
    [[nodiscard]] nn::Model& model() const { return *model_; }
    [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }

  private:
    const Communicator& comm_;
    std::shared_ptr<nn::Model> model_;
    std::vector<at::Tensor> parameters_;
    nn::Optimizer optimizer_;
    std::string author_;
};

}  // namespace dist::trainer
