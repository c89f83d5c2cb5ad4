// Exercise 07: parameters in 16 bits, and an optimizer that steps copies of them in 32.
#pragma once

#include <ATen/core/Tensor.h>
#include <vector>

#include "course/nn/optimizer.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Steps master weights, copies of the parameters in float32, and rounds them to the parameters, which are in
/// bfloat16 or float16. A step that is too small for 16 bits is not lost in the master weights: it adds up with
/// the next ones.
class MixedPrecisionOptimizer {
  public:
    /// parameters  leaves in bfloat16 or float16, of both if you like; the same values on every rank.
    /// options     of the optimizer that steps the master weights.
    ///
    /// Errors      std::invalid_argument if a parameter has another dtype.
    MixedPrecisionOptimizer(
        std::vector<at::Tensor> parameters, const nn::OptimizerOptions& options
    );

    /// Throws all gradients away.
    void zero_grad();

    /// Divides the gradients by `scale` in float32, steps the master weights by the result, and rounds the
    /// master weights into the parameters' own memory. The parameters' gradients stay as they are. A parameter
    /// without a gradient is left alone, and so is its master weight.
    ///
    /// If an element of a gradient is infinite or NaN on any rank, all ranks skip the step: parameters, master
    /// weights, and what the optimizer keeps are as before.
    ///
    /// scale    what the loss was multiplied by, above 0.
    /// comm     collective: every rank of `comm` makes this call.
    /// returns  whether the step was taken; the same on every rank.
    ///
    /// Cost     one ring all-reduce of one float, also on a rank without gradients. Between two calls it holds
    ///          the master weights and what the optimizer keeps, and no gradient of its own.
    /// Errors   std::invalid_argument, before any message, if `scale` is not above 0. dist::Error if a message
    ///          fails. After either, all is as before the call.
    bool step(double scale, const Communicator& comm);

    /// One for each parameter, in float32: the same tensors for as long as this lives.
    [[nodiscard]] const std::vector<at::Tensor>& masters() const { return optimizer_.parameters(); }

  private:
    std::vector<at::Tensor> parameters_;
    nn::Optimizer optimizer_;  // of the master weights
};

/// Finds the number that the loss is multiplied by, so that small gradients do not become zeros in float16: as
/// large as it can be without infinite gradients. A step of training:
///
///     optimizer.zero_grad();
///     loss.mul(scaler.scale()).backward();
///     // gradients are averaged over the ranks
///     scaler.update(optimizer.step(scaler.scale(), comm));
///
/// bfloat16 has the exponents of float32, and needs no more than 1.
///
/// Source  Micikevicius et al. (2018), "Mixed precision training"; the numbers are torch.cuda.amp.GradScaler's.
class LossScaler {
  public:
    /// scale   at first; above 0.
    /// window  so many steps in a row must be taken before the scale doubles; at least 1.
    ///
    /// Errors  std::invalid_argument for other values.
    explicit LossScaler(double scale = 65536.0, int window = 2000);

    /// The scale of the next step.
    [[nodiscard]] double scale() const { return scale_; }

    /// To be called after each step. A skipped step halves the scale. A taken step doubles it, if it is the last
    /// of `window` in a row since the scale last changed.
    void update(bool taken);

  private:
    double scale_;
    int window_;
    int taken_ = 0;  // in a row, since the scale last changed
};

}  // namespace dist
