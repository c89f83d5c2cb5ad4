// The networks: as large as they should be, with the names that torchvision's weights have.
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <string>
#include <vector>

#include "course/nn/functional_call.hpp"
#include "course/nn/model.hpp"
#include "tests/harness/catch2.hpp"

namespace {

std::int64_t count_parameters(const dist::nn::Model& model) {
    std::int64_t count = 0;
    for (const at::Tensor& parameter : model.parameters()) {
        count += parameter.numel();
    }
    return count;
}

}  // namespace

TEST_CASE("ResNet34 has as many parameters as published, with either stem", "[nn]") {
    CHECK(count_parameters(*dist::nn::make_model("resnet34", 10)) == 21'282'122);
    CHECK(count_parameters(*dist::nn::make_model("resnet34-imagenet", 10)) == 21'289'802);
    CHECK(count_parameters(*dist::nn::make_model("resnet34-imagenet", 1000)) == 21'797'672);
}

TEST_CASE("ResNet34's layers have torchvision's names and shapes", "[nn]") {
    const auto model = dist::nn::make_model("resnet34");
    const auto parameters = model->named_parameters();
    const auto shape = [&](const std::string& name) {
        const at::Tensor* const found = parameters.find(name);
        return found == nullptr ? std::vector<std::int64_t>{} : found->sizes().vec();
    };
    using Shape = std::vector<std::int64_t>;
    CHECK(parameters.size() == 110);
    CHECK(shape("conv1.weight") == Shape{64, 3, 3, 3});
    CHECK(shape("bn1.bias") == Shape{64});
    CHECK(shape("layer1.0.conv1.weight") == Shape{64, 64, 3, 3});
    CHECK(shape("layer1.2.bn2.weight") == Shape{64});
    CHECK(shape("layer2.0.downsample.0.weight") == Shape{128, 64, 1, 1});
    CHECK(shape("layer2.0.downsample.1.weight") == Shape{128});
    CHECK(shape("layer3.5.conv2.weight") == Shape{256, 256, 3, 3});
    CHECK(shape("layer4.2.conv2.weight") == Shape{512, 512, 3, 3});
    CHECK(shape("fc.weight") == Shape{10, 512});
    CHECK(shape("fc.bias") == Shape{10});
    CHECK(model->named_buffers().find("layer4.0.downsample.1.running_mean") != nullptr);
}

TEST_CASE("every model gives ten scores a picture, and a gradient to every parameter", "[nn]") {
    const std::string name = GENERATE("resnet34", "resnet34-imagenet", "small");
    const auto model = dist::nn::make_model(name);
    const at::Tensor scores = model->forward(at::ones({2, 3, 32, 32}));
    CHECK(scores.sizes() == at::IntArrayRef({2, 10}));
    scores.sum().backward();
    for (const auto& parameter : model->named_parameters()) {
        INFO(name << ": " << parameter.key());
        CHECK(parameter.value().grad().defined());
    }
}

TEST_CASE("the small model has no batch normalisation", "[nn]") {
    CHECK(dist::nn::make_model("small")->buffers().empty());
}

TEST_CASE("a model that does not exist is refused by name", "[nn]") {
    CHECK_THROWS_AS(dist::nn::make_model("resnet33"), std::invalid_argument);
}

TEST_CASE("functional_call computes with the tensors given, and backward reaches them", "[nn]") {
    const auto model = dist::nn::make_model("resnet34-imagenet");
    const auto other = dist::nn::make_model("resnet34-imagenet");
    const at::Tensor pictures = at::rand({4, 3, 32, 32});
    std::vector<at::Tensor> copies;
    for (const at::Tensor& tensor : dist::nn::tensors_of(*model)) {
        copies.push_back(tensor.clone());
    }
    const at::Tensor scores = dist::nn::functional_call(*other, copies, pictures);
    scores.sum().backward();
    CHECK(copies.back().item<std::int64_t>() == 1);  // num_batches_tracked of the last
    CHECK(model->buffers().back().item<std::int64_t>() == 0);
    for (const auto& parameter : model->named_parameters()) {
        INFO(parameter.key());
        CHECK(parameter.value().grad().defined());
    }
    CHECK(scores.equal(model->forward(pictures)));
    CHECK_THROWS_AS(
        dist::nn::functional_call(*other, std::vector<at::Tensor>{}, pictures),
        std::invalid_argument
    );
}
