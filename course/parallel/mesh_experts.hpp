// The experts of a block, where ranks of ep have some each.
#pragma once

#include <ATen/core/Tensor.h>
#include <memory>
#include <vector>

#include <torch/nn/module.h>

#include "course/nn/gpt_shape.hpp"
#include "course/parallel/mesh_layers.hpp"

namespace dist::trainer {

/// This rank's experts of a block: MLPs named by their numbers among all, each cut over place.tp.
class MeshExperts : public torch::nn::Module {
  public:
    MeshExperts(const nn::GptShape& shape, const GptPlace& place);

    /// By exercise expert_parallel: this rank's tokens go to their experts, and results come back.
    /// Where autograd is on, backward goes through the balance loss of all ranks' choices as well.
    ///
    /// x        (B, T / cp, w)
    /// scores   (B, T / cp, E): of all experts.
    /// Returns  (B, T / cp, w)
    at::Tensor forward(const at::Tensor& x, const at::Tensor& scores) const;

  private:
    nn::ExpertShape shape_;
    GptPlace place_;
    std::vector<MeshMlp> own_;
};

}  // namespace dist::trainer
