// The models by name, and the smallest of them.
#include "course/nn/model.hpp"

#include <stdexcept>
#include <utility>

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "course/nn/resnet.hpp"

namespace dist::nn {

namespace {

// Three times: 3x3 convolution, ReLU, halve the picture. Every picture goes its own way through it:
// no layer mixes the pictures of a batch.
class SmallCnn : public Model {
  public:
    explicit SmallCnn(std::int64_t classes)
        : conv1_(register_module("conv1", conv(3, 32))),
          conv2_(register_module("conv2", conv(32, 64))),
          conv3_(register_module("conv3", conv(64, 128))),
          fc_(register_module("fc", torch::nn::Linear(128 * 4 * 4, classes))) {
        for (auto layer : {conv1_, conv2_, conv3_}) {
            add_part({layer.ptr()}, [conv = layer.get()](const at::Tensor& x) {
                return at::max_pool2d(conv->forward(x).relu_(), 2);
            });
        }
        add_part({fc_.ptr()}, [this](const at::Tensor& x) { return fc_(x.flatten(1)); });
    }

  private:
    static torch::nn::Conv2d conv(std::int64_t in, std::int64_t out) {
        return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
    }

    torch::nn::Conv2d conv1_;
    torch::nn::Conv2d conv2_;
    torch::nn::Conv2d conv3_;
    torch::nn::Linear fc_;
};

}  // namespace

at::Tensor Model::forward(at::Tensor inputs) {
    at::Tensor x = std::move(inputs);
    for (const Part& part : parts_) {
        x = part.forward(x);
    }
    return x;
}

void Model::add_part(
    const std::vector<std::shared_ptr<torch::nn::Module>>& layers,
    std::function<at::Tensor(const at::Tensor& x)> forward
) {
    Part& part = parts_.emplace_back();
    for (const auto& layer : layers) {
        const std::vector<at::Tensor> more = layer->parameters();
        part.parameters.insert(part.parameters.end(), more.begin(), more.end());
    }
    part.forward = std::move(forward);
}

std::shared_ptr<Model> make_model(const std::string& name, std::int64_t classes) {
    if (name == "resnet34") {
        return make_resnet34(Stem::cifar, classes);
    }
    if (name == "resnet34-imagenet") {
        return make_resnet34(Stem::imagenet, classes);
    }
    if (name == "small") {
        return std::make_shared<SmallCnn>(classes);
    }
    throw std::invalid_argument("make_model: there is no model " + name);
}

}  // namespace dist::nn
