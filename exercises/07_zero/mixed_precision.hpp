// Exercise 07: parameters of 16 bits, stepped by way of copies of 32.
#pragma once

#include <ATen/core/Tensor.h>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Steps parameters in bfloat16 or float16 by way of master weights, copies of them in float32: a step too
/// small to be seen in 16 bits is not lost there, and adds up with the next ones.
class MixedPrecisionOptimizer {
  public:
    /// parameters  leaves in bfloat16 or float16; the same values on every rank.
    /// options     of the optimizer that steps the master weights.
    ///
    /// Errors      std::invalid_argument if a parameter has another dtype.
    MixedPrecisionOptimizer(
        std::vector<at::Tensor> parameters, const nn::OptimizerOptions& options
    );

    /// Throws all gradients away.
    void zero_grad();

    /// Divides the gradients by `scale`, in float32, steps the master weights with them, and rounds these to
    /// the parameters, where they lie. A parameter without a gradient is left alone.
    ///
    /// If an element of a gradient is infinite or NaN, on any rank, the step is skipped on all: parameters,
    /// master weights, and what the optimizer keeps are as before.
    ///
    /// scale    what the loss was multiplied by, above 0. The gradients stay as they are.
    /// comm     collective: every rank of `comm` makes this call.
    /// returns  whether the step was taken; the same on every rank.
    ///
    /// Cost     one ring all-reduce of one float. Between two calls it holds, for each parameter, the master
    ///          weight and what the optimizer keeps, and no gradient of its own.
    /// Errors   std::invalid_argument, before any message, if `scale` is not above 0. dist::Error if a message
    ///          fails.
    bool step(double scale, const Communicator& comm);

    /// One for each parameter, in float32: the same tensors for as long as this lives.
    [[nodiscard]] const std::vector<at::Tensor>& masters() const { return optimizer_.parameters(); }

  private:
    std::vector<at::Tensor> parameters_;
    nn::Optimizer optimizer_;  // of the master weights
};

/// What the loss is multiplied by, so that small gradients are no zeros in float16: as large as it can be
/// without gradients that are infinite. A step of training:
///
///     optimizer.zero_grad();
///     loss.mul(scaler.scale()).backward();
///     // gradients are averaged over the ranks
///     scaler.update(optimizer.step(scaler.scale(), comm));
///
/// With bfloat16, which has float32's exponents, 1 will do.
///
/// Source  Micikevicius et al. (2018), "Mixed precision training"; the numbers are torch.cuda.amp.GradScaler's.
class LossScaler {
  public:
    /// scale   at first; above 0.
    /// window  after so many steps in a row that were taken, it is doubled; at least 1.
    ///
    /// Errors  std::invalid_argument for other values.
    explicit LossScaler(double scale = 65536.0, int window = 2000);

    /// Of the next step.
    [[nodiscard]] double scale() const { return scale_; }

    /// After each step. One that was skipped halves the scale. One that was taken doubles it, if it is the
    /// last of `window` in a row since the scale last changed.
    void update(bool taken);

  private:
    double scale_;
    int window_;
    int taken_ = 0;  // in a row, since the scale last changed
};

}  // namespace dist
