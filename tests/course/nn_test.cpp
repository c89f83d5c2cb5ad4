// The networks: as large as they should be, with the names that torchvision's weights have.
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <algorithm>
#include <c10/core/CPUAllocator.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include "course/nn/functional_call.hpp"
#include "course/nn/memory.hpp"
#include "course/nn/model.hpp"
#include "course/nn/optimizer.hpp"
#include "tests/harness/catch2.hpp"

namespace {

std::int64_t count_parameters(const dist::nn::Model& model) {
    std::int64_t count = 0;
    for (const at::Tensor& parameter : model.parameters()) {
        count += parameter.numel();
    }
    return count;
}

using dist::nn::OptimizerOptions;

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

TEST_CASE("sgd and adamw step as PyTorch's do, to the last bit, also piece by piece", "[nn]") {
    const auto parameters = [] {
        torch::manual_seed(1);
        std::vector<at::Tensor> made = {
            at::randn({300, 301}), at::randn({7}), at::randn({3, 2}).t(), at::randn({4})};
        for (const at::Tensor& parameter : made) {
            parameter.requires_grad_();
        }
        return made;
    };
    const auto mine = parameters();
    const auto pytorchs = parameters();
    const std::string which = GENERATE("sgd", "momentum", "nesterov", "adamw");
    INFO(which);
    OptimizerOptions options{.rate = 0.05, .weight_decay = which == "sgd" ? 0 : 0.01};
    options.kind = which == "adamw" ? OptimizerOptions::Kind::adamw : OptimizerOptions::Kind::sgd;
    options.momentum = which == "sgd" ? 0 : 0.9;
    options.nesterov = which == "nesterov";
    dist::nn::Optimizer optimizer(options, mine);
    std::unique_ptr<torch::optim::Optimizer> reference;
    if (which == "adamw") {
        reference = std::make_unique<torch::optim::AdamW>(
            pytorchs, torch::optim::AdamWOptions(options.rate).weight_decay(options.weight_decay)
        );
    } else {
        reference = std::make_unique<torch::optim::SGD>(
            pytorchs, torch::optim::SGDOptions(options.rate)
                          .momentum(options.momentum)
                          .weight_decay(options.weight_decay)
                          .nesterov(options.nesterov)
        );
    }
    for (int step = 0; step < 5; ++step) {
        for (std::size_t i = 0; i + 1 < mine.size(); ++i) {  // the last one has no gradient
            mine[i].mutable_grad() = at::randn(mine[i].sizes());
            pytorchs[i].mutable_grad() = mine[i].grad().clone();
        }
        optimizer.step();
        reference->step();
        for (std::size_t i = 0; i < mine.size(); ++i) {
            INFO("step " << step << ", parameter " << i);
            CHECK(at::equal(mine[i], pytorchs[i]));
        }
    }
    CHECK(optimizer.state(0).size() == (which == "sgd" ? 0 : which == "adamw" ? 3 : 1));
    CHECK(optimizer.state(3).empty());
    optimizer.zero_grad();
    CHECK_FALSE(mine[0].grad().defined());
}

TEST_CASE("an optimizer goes on from the state of another", "[nn]") {
    using Kind = dist::nn::OptimizerOptions::Kind;
    const Kind kind = GENERATE(Kind::sgd, Kind::adamw);
    const dist::nn::OptimizerOptions options{.kind = kind, .momentum = 0.9};
    const auto step = [&](dist::nn::Optimizer& optimizer) {
        optimizer.parameters()[0].mutable_grad() = at::rand({5});
        optimizer.step();
        return optimizer.parameters()[0].clone();
    };
    torch::manual_seed(1);
    dist::nn::Optimizer optimizer(options, {at::ones({5})});
    const at::Tensor weights = step(optimizer);
    dist::nn::Optimizer next(options, {weights.clone()});
    dist::nn::Optimizer forgetful(options, {weights.clone()});
    forgetful.load_state(0, optimizer.state(0));
    forgetful.load_state(0, {});
    dist::nn::OptimizerState state;
    for (const auto& [name, tensor] : optimizer.state(0)) {
        state[name] = tensor.clone();
    }
    next.load_state(0, state);
    torch::manual_seed(2);
    const at::Tensor expected = step(optimizer);
    torch::manual_seed(2);
    CHECK(at::equal(step(next), expected));
    torch::manual_seed(2);
    CHECK_FALSE(at::equal(step(forgetful), expected));
    state["another"] = at::ones({5});
    state.erase(kind == Kind::sgd ? "momentum_buffer" : "exp_avg_sq");
    CHECK_THROWS_AS(next.load_state(0, state), std::out_of_range);
}

TEST_CASE("memory is counted where LibTorch asks for it, by kind, and given back", "[nn]") {
    using namespace dist::nn;
    count_memory();
    count_memory();  // once is enough
    const MemoryBytes before = held_memory();
    const auto more = [&](MemoryKind kind) { return held_memory().of(kind) - before.of(kind); };
    forget_peak_memory();
    {
        const MemoryScope scope(MemoryKind::parameters);
        const at::Tensor weights = at::ones({1000});
        at::Tensor gradient;
        {
            const MemoryScope inner(MemoryKind::gradients);
            gradient = at::ones({10, 10});
        }
        const at::Tensor view = weights.narrow(0, 1, 10).view({2, 5});
        CHECK(more(MemoryKind::parameters) == 4000);
        CHECK(more(MemoryKind::gradients) == 400);
        std::thread([&] { gradient.reset(); }).join();
        CHECK(more(MemoryKind::gradients) == 0);
    }
    CHECK(held_memory() == before);
    CHECK(peak_memory().total() == before.total() + 4400);
    CHECK(peak_memory().of(MemoryKind::gradients) == before.of(MemoryKind::gradients) + 400);
    forget_peak_memory();
    CHECK(peak_memory() == before);
    void* const raw = c10::GetCPUAllocator()->raw_allocate(100);  // as convolutions do
    CHECK(held_memory().total() == before.total() + 100);
    c10::GetCPUAllocator()->raw_deallocate(raw);
    CHECK(held_memory() == before);
}

TEST_CASE("who asks for it is told when tensors come and go", "[nn]") {
    using namespace dist::nn;
    count_memory();
    const std::size_t before = held_memory().total();
    std::vector<std::size_t> told;
    on_memory_change([&](const MemoryBytes& held) { told.push_back(held.total() - before); });
    at::Tensor one = at::ones({100});
    const at::Tensor two = at::ones({10});
    one.reset();
    on_memory_change({});
    const at::Tensor three = at::ones({1});
    // ones() also makes the number 1 for a moment
    std::erase_if(told, [](std::size_t bytes) { return bytes % 40 != 0 || bytes == 0; });
    told.erase(std::unique(told.begin(), told.end()), told.end());
    CHECK(told == std::vector<std::size_t>{400, 440, 40});
}

TEST_CASE("what a step needs for a time does not grow with the parameters", "[nn]") {
    using namespace dist::nn;
    count_memory();
    const auto kind = GENERATE(OptimizerOptions::Kind::sgd, OptimizerOptions::Kind::adamw);
    for (const std::int64_t n : {1 << 20, 1 << 22}) {
        Optimizer optimizer(
            {.kind = kind, .weight_decay = 0.1, .momentum = 0.9, .nesterov = true}, {at::ones({n})}
        );
        optimizer.parameters()[0].mutable_grad() = at::ones({n});
        optimizer.step();
        const MemoryBytes before = held_memory();
        forget_peak_memory();
        optimizer.step();
        CHECK(held_memory() == before);
        CHECK(peak_memory().total() - before.total() < 1 << 19);
        const std::size_t kept = kind == OptimizerOptions::Kind::adamw ? 8 : 4;
        CHECK(before.of(MemoryKind::optimizer) == kept * static_cast<std::size_t>(n));
    }
}
