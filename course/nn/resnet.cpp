#include "course/nn/resnet.hpp"

#include <torch/nn/functional/pooling.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

namespace dist::nn {

namespace {

// without a bias: the batch normalisation that follows has one
torch::nn::Conv2d conv(
    std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride
) {
    return torch::nn::Conv2d(
        torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false)
    );
}

// Two 3x3 convolutions, and a short cut around them.
class BasicBlock : public torch::nn::Module {
  public:
    BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
        : conv1_(register_module("conv1", conv(in, out, 3, stride))),
          bn1_(register_module("bn1", torch::nn::BatchNorm2d(out))),
          conv2_(register_module("conv2", conv(out, out, 3, 1))),
          bn2_(register_module("bn2", torch::nn::BatchNorm2d(out))) {
        if (stride != 1 || in != out) {  // the short cut must end in the same shape
            downsample_ = register_module(
                "downsample",
                torch::nn::Sequential(conv(in, out, 1, stride), torch::nn::BatchNorm2d(out))
            );
        }
        torch::nn::init::zeros_(bn2_->weight);  // a block starts as its short cut
    }

    // (B, in, H, W) -> (B, out, H / stride, W / stride)
    at::Tensor forward(at::Tensor x) {
        const at::Tensor shortcut = downsample_.is_empty() ? x : downsample_->forward(x);
        x = bn1_(conv1_(x)).relu_();
        x = bn2_(conv2_(x));
        return (x += shortcut).relu_();
    }

  private:
    torch::nn::Conv2d conv1_;
    torch::nn::BatchNorm2d bn1_;
    torch::nn::Conv2d conv2_;
    torch::nn::BatchNorm2d bn2_;
    torch::nn::Sequential downsample_{nullptr};
};

torch::nn::Sequential stage(std::int64_t in, std::int64_t out, int blocks, std::int64_t stride) {
    torch::nn::Sequential layers(std::make_shared<BasicBlock>(in, out, stride));
    for (int i = 1; i < blocks; ++i) {
        layers->push_back(std::make_shared<BasicBlock>(out, out, 1));
    }
    return layers;
}

class ResNet34 : public Model {
  public:
    ResNet34(Stem stem, std::int64_t classes)
        : conv1_(
              register_module("conv1", stem == Stem::cifar ? conv(3, 64, 3, 1) : conv(3, 64, 7, 2))
          ),
          bn1_(register_module("bn1", torch::nn::BatchNorm2d(64))),
          layer1_(register_module("layer1", stage(64, 64, 3, 1))),
          layer2_(register_module("layer2", stage(64, 128, 4, 2))),
          layer3_(register_module("layer3", stage(128, 256, 6, 2))),
          layer4_(register_module("layer4", stage(256, 512, 3, 2))),
          fc_(register_module("fc", torch::nn::Linear(512, classes))) {
        for (const auto& module : modules(/*include_self=*/false)) {
            if (const auto* layer = module->as<torch::nn::Conv2d>()) {
                torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
            }
        }
        add_part({conv1_.ptr(), bn1_.ptr()}, [this, stem](const at::Tensor& x) {
            const at::Tensor h = bn1_(conv1_(x)).relu_();
            return stem == Stem::imagenet ? at::max_pool2d(h, 3, 2, 1) : h;
        });
        for (const torch::nn::Sequential& blocks : {layer1_, layer2_, layer3_, layer4_}) {
            for (const auto& block : blocks->children()) {
                add_part({block}, [basic = block->as<BasicBlock>()](const at::Tensor& x) {
                    return basic->forward(x);
                });
            }
        }
        add_part({fc_.ptr()}, [this](const at::Tensor& x) { return fc_(x.mean({2, 3})); });
    }

  private:
    torch::nn::Conv2d conv1_;
    torch::nn::BatchNorm2d bn1_;
    torch::nn::Sequential layer1_;
    torch::nn::Sequential layer2_;
    torch::nn::Sequential layer3_;
    torch::nn::Sequential layer4_;
    torch::nn::Linear fc_;
};

}  // namespace

std::shared_ptr<Model> make_resnet34(Stem stem, std::int64_t classes) {
    return std::make_shared<ResNet34>(stem, classes);
}

}  // namespace dist::nn
