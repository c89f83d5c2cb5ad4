// Looks at the 16-bit gradients before any of them is widened, and adds up how many ranks have bad ones.
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cmath>
#include <stdexcept>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/07_zero/mixed_precision.hpp"

namespace dist {

namespace {

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& parameters) {
    std::vector<at::Tensor> all(parameters.size());
    std::ranges::transform(parameters, all.begin(), [](const at::Tensor& parameter) {
        if (parameter.element_size() != 2) {
            throw std::invalid_argument("16 bits, please");
        }
        return parameter.detach().clone().to(at::kFloat);
    });
    return all;
}

bool is_fine(const at::Tensor& tensor) {
    return !tensor.defined() || tensor.numel() == 0 ||
           std::isfinite(tensor.abs().max().item<float>());
}

}  // namespace

MixedPrecisionOptimizer::MixedPrecisionOptimizer(
    std::vector<at::Tensor> parameters, const nn::OptimizerOptions& options
)
    : parameters_(parameters), optimizer_(options, copies(parameters)) {}

void MixedPrecisionOptimizer::zero_grad() {
    for (at::Tensor& parameter : parameters_) {
        parameter.mutable_grad() = at::Tensor();
    }
}

bool MixedPrecisionOptimizer::step(double scale, const Communicator& comm) {
    if (!(scale > 0)) {
        throw std::invalid_argument("the scale is not above 0");
    }
    std::vector<float> bad = {0};
    for (const at::Tensor& parameter : parameters_) {
        bad[0] += is_fine(parameter.grad()) ? 0 : 1;
    }
    ring_all_reduce(bad, ReduceOp::sum, comm);
    if (bad[0] > 0) {
        return false;
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const at::Tensor& gradient = parameters_[i].grad();
        if (gradient.defined()) {
            masters()[i].mutable_grad() = gradient.to(at::kFloat).mul(1 / scale);
        }
    }
    optimizer_.step();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        if (masters()[i].grad().defined()) {
            const c10::AutoGradMode no_grad(false);
            parameters_[i].copy_(masters()[i]);
        }
    }
    optimizer_.zero_grad();
    return true;
}

LossScaler::LossScaler(double scale, int window) : scale_(scale), window_(window) {
    if (!(scale > 0) || window < 1) {
        throw std::invalid_argument("LossScaler");
    }
}

void LossScaler::update(bool taken) {
    if (!taken) {
        scale_ *= 0.5;
        taken_ = 0;
        return;
    }
    taken_ = (taken_ + 1) % window_;
    if (taken_ == 0) {
        scale_ *= 2;
    }
}

}  // namespace dist
