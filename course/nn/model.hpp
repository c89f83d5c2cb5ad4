// What the trainer knows of a network: examples in, scores out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

namespace dist::nn {

/// A part of a model: what it does with what the part before it returned.
struct Part {
    std::vector<at::Tensor> parameters;
    std::function<at::Tensor(const at::Tensor& x)> forward;
};

/// A network of parts, one behind the other. Its parameters and buffers are those of torch::nn::Module.
class Model : public torch::nn::Module {
  public:
    /// The scores of every class, before softmax.
    ///
    /// inputs    of pictures (B, 3, 32, 32) float32, normalised; of text (B, T) int64.
    /// Returns   (B, classes), or (B, T, tokens); float32, or bfloat16 under autocast.
    at::Tensor forward(at::Tensor inputs);

    /// What forward() does, one after the other: a layer or a block each. Together they have the model's
    /// parameters, in its order. Valid while the model lives.
    [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }

  protected:
    /// The next part, which has these layers.
    void add_part(
        const std::vector<std::shared_ptr<torch::nn::Module>>& layers,
        std::function<at::Tensor(const at::Tensor& x)> forward
    );

  private:
    std::vector<Part> parts_;
};

/// Makes a model by the name that the command line uses, with fresh weights from LibTorch's
/// generator (torch::manual_seed).
///
/// name     resnet34           21,282,122 parameters with 10 classes; 3x3 stem for 32x32 pictures
///          resnet34-imagenet  21,289,802 parameters with 10 classes; 7x7 stem and pooling, ten
///                             times faster on 32x32 pictures, and less accurate
///          small              three convolutions without batch normalisation: what it learns from
///                             a global batch does not depend on how many ranks share that batch
///
/// Errors   std::invalid_argument for any other name.
std::shared_ptr<Model> make_model(const std::string& name, std::int64_t classes = 10);

}  // namespace dist::nn
