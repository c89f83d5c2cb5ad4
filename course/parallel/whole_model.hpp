// What ways of parallelism share in which every rank has the whole model: its weights, equal everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "course/parallel/strategy.hpp"

namespace dist::trainer {

class WholeModel : public Strategy {
  public:
    at::Tensor forward(const at::Tensor& inputs) override;

    /// Nothing: for ways that backward needs not know of.
    void prepare_for_backward(const at::Tensor& loss) override;

    /// Equal weights and equal gradients make equal weights, or the gradients were not equal.
    void expect_equal(std::size_t done) const override;

    /// Parameters and buffers.
    [[nodiscard]] StateDict state_dict() const override;
    void load_state_dict(const StateDict& state) override;

  protected:
    /// Of parameters and buffers.
    [[nodiscard]] std::vector<StatePart> model_parts() const;

    /// author  who gives the ranks their gradients: for the text of expect_equal().
    WholeModel(
        const ParallelOptions& options,
        std::shared_ptr<nn::Model> model,
        const Communicator& comm,
        std::string author
    );

    [[nodiscard]] const Communicator& comm() const { return comm_; }
    [[nodiscard]] nn::Model& model() const { return *model_; }
    [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }

    /// Of all parameters.
    [[nodiscard]] std::int64_t elements() const;

  private:
    const Communicator& comm_;
    std::shared_ptr<nn::Model> model_;
    std::vector<at::Tensor> parameters_;
    std::string author_;
};

}  // namespace dist::trainer
