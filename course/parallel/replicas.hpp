// What ways of parallelism with equal replicas share: every rank steps the whole model with the same
// gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/parallel/whole_model.hpp"

namespace dist::trainer {

class Replicas : public WholeModel {
  public:
    void zero_gradients() override;
    double clip_gradients(double limit) override;
    void step(double rate) override;
    [[nodiscard]] StateDict state_dict() const override;
    [[nodiscard]] std::vector<StatePart> parts() const override;
    void load_state_dict(const StateDict& state) override;

  protected:
    /// author  who gives the ranks their gradients: for the text of expect_equal().
    Replicas(
        const ParallelOptions& options,
        std::shared_ptr<nn::Model> model,
        const Communicator& comm,
        std::string author
    );

  private:
    nn::Optimizer optimizer_;
};

}  // namespace dist::trainer
