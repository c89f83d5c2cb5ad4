// What steps parameters by their gradients: stochastic gradient descent, and Adam.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace dist::nn {

struct OptimizerOptions {
    enum class Kind { sgd, adamw };
    Kind kind = Kind::sgd;
    double rate = 0.1;
    double weight_decay = 0;
    double momentum = 0;    // of sgd: 0 for none, and then nothing is kept
    bool nesterov = false;  // of sgd
    double beta1 = 0.9;     // of adamw
    double beta2 = 0.999;
    double epsilon = 1e-8;
};

/// What is kept of one parameter, by PyTorch's names: "momentum_buffer" of sgd; "exp_avg", "exp_avg_sq" and
/// "step" of adamw.
using OptimizerState = std::map<std::string, at::Tensor>;

/// The formulas of torch.optim.SGD and torch.optim.AdamW, to the same bits, without room for intermediate
/// results that grows with the parameters: large ones are stepped piece by piece, while they are in the
/// cache. An element's step depends on no other, so parameters may be cut and joined.
class Optimizer {
  public:
    /// parameters  of a floating-point dtype, on any device.
    Optimizer(const OptimizerOptions& options, std::vector<at::Tensor> parameters);

    /// Throws all gradients away.
    void zero_grad() const;

    /// One step of every parameter that has a gradient. Gradients stay as they are.
    void step();

    /// Of the steps from here on.
    void set_rate(double rate) { options_.rate = rate; }

    [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }

    /// What is kept of parameter i; empty before its first step. The tensors are those that are stepped with.
    [[nodiscard]] OptimizerState state(std::size_t i) const;

    /// Takes what state() gave.
    ///
    /// Errors  std::out_of_range if a tensor is not there.
    void load_state(std::size_t i, const OptimizerState& state);

  private:
    struct Kept {
        std::vector<at::Tensor> tensors;  // of the parameter's shape, in the order of names()
        std::int64_t steps = 0;
    };

    [[nodiscard]] std::vector<std::string> names() const;

    /// Step number `steps` of weights, with their gradient and what is kept of them, in this order.
    void update(std::span<const at::Tensor> tensors, std::int64_t steps) const;

    OptimizerOptions options_;
    std::vector<at::Tensor> parameters_;
    std::vector<Kept> kept_;
};

}  // namespace dist::nn
