// Gradients that come one by one, laid side by side while backward makes others.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dist::nn {

/// The gradients of parameters whose weights lie in a row: a row of their own, whose memory is there from the
/// first that comes until it is released.
class GradientRow {
  public:
    /// parameters  side by side in the row, in their order. What gradients they have is thrown away.
    /// length      of the row: at least the elements of all of them.
    GradientRow(std::vector<at::Tensor> parameters, std::int64_t length);

    /// Moves parameter k's gradient, times `factor`, to its place: the parameter has none afterwards.
    void take(std::size_t k, double factor);

    /// Whether the gradients of all parameters have come.
    [[nodiscard]] bool is_full() const { return missing_ == 0; }

    /// The row, for the caller alone: its memory is gone with the last tensor that is a view of it. What did
    /// not come is zeros, and so is the end of the row. None has come afterwards.
    at::Tensor release();

    /// None has come.
    void clear();

  private:
    void begin();

    std::vector<at::Tensor> parameters_;
    std::int64_t length_;
    at::Tensor row_ = {};
    std::size_t missing_ = 0;
};

}  // namespace dist::nn
