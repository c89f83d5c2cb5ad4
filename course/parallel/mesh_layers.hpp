// Layers of a GPT that ranks of tp share.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <torch/nn/module.h>

#include "course/parallel/mesh_gpt.hpp"
#include "exercises/08_model_parallel/sequence_parallel.hpp"
#include "exercises/08_model_parallel/tensor_parallel.hpp"

namespace dist::trainer {

/// A layer of exercise tensor_parallel with parameters that have names. The layer cuts what it is
/// given: here shapes alone. The numbers come afterwards.
template <class Linear>
class MeshLinear : public torch::nn::Module {
  public:
    MeshLinear(std::int64_t in, std::int64_t out, bool bias, const Communicator& tp)
        : linear(at::empty({out, in}), bias ? at::empty({out}) : at::Tensor(), tp) {
        register_parameter("weight", linear.weight);
        if (bias) {
            register_parameter("bias", linear.bias);
        }
    }

    at::Tensor forward(const at::Tensor& x, const GptPlace& place) const {
        return place.sequence_parallel ? sequence_parallel(x, place.tp) : linear.forward(x);
    }

    Linear linear;

  private:
    at::Tensor sequence_parallel(const at::Tensor& x, const Communicator& tp) const {
        if constexpr (std::is_same_v<Linear, ColumnParallelLinear>) {
            return sequence_parallel_column_linear(x, linear.weight, linear.bias, tp);
        } else {
            return sequence_parallel_row_linear(x, linear.weight, linear.bias, tp);
        }
    }
};

using MeshColumns = MeshLinear<ColumnParallelLinear>;
using MeshRows = MeshLinear<RowParallelLinear>;

/// Two layers with a gelu between them, "mlp_in" and "mlp_out" of the owner's.
class MeshMlp {
  public:
    MeshMlp(std::int64_t width, const GptPlace& place, torch::nn::Module& owner);

    /// (..., w) -> (..., w)
    at::Tensor forward(const at::Tensor& x) const;

  private:
    GptPlace place_;
    std::shared_ptr<MeshColumns> in_;
    std::shared_ptr<MeshRows> out_;
};

}  // namespace dist::trainer
