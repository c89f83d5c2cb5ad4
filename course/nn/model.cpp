// The models by name, and the smallest of them.
#include "course/nn/model.hpp"

#include <stdexcept>

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
          fc_(register_module("fc", torch::nn::Linear(128 * 4 * 4, classes))) {}

    at::Tensor forward(at::Tensor x) override {
        for (auto layer : {conv1_, conv2_, conv3_}) {
            x = at::max_pool2d(layer->forward(x).relu_(), 2);
        }
        return fc_(x.flatten(1));
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
