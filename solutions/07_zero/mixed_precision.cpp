#include "exercises/07_zero/mixed_precision.hpp"

#include <utility>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

namespace {

std::vector<at::Tensor> widened(const std::vector<at::Tensor>& parameters) {
    std::vector<at::Tensor> masters;
    for (const at::Tensor& parameter : parameters) {
        const auto dtype = parameter.scalar_type();
        expects(
            dtype == at::kBFloat16 || dtype == at::kHalf,
            "MixedPrecisionOptimizer: parameters must be bfloat16 or float16"
        );
        masters.push_back(parameter.detach().to(at::kFloat));
    }
    return masters;
}

}  // namespace

MixedPrecisionOptimizer::MixedPrecisionOptimizer(
    std::vector<at::Tensor> parameters, const nn::OptimizerOptions& options
)
    : parameters_(std::move(parameters)), optimizer_(options, widened(parameters_)) {}

void MixedPrecisionOptimizer::zero_grad() {
    for (const at::Tensor& parameter : parameters_) {
        parameter.mutable_grad().reset();
    }
}

bool MixedPrecisionOptimizer::step(double scale, const Communicator& comm) {
    expects(scale > 0, "MixedPrecisionOptimizer: the scale must be above 0");
    std::vector<at::Tensor> gradients(parameters_.size());  // in float32; gone when this call ends
    float infinite = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const at::Tensor& gradient = parameters_[i].grad();
        if (gradient.defined()) {
            gradients[i] = gradient.to(at::kFloat).div_(scale);
            const bool finite = gradients[i].isfinite().all().item<bool>();
            infinite = finite ? infinite : 1;
        }
    }
    ring_all_reduce({&infinite, 1}, ReduceOp::max, comm);  // an overflow on one rank counts on all
    if (infinite != 0) {
        return false;
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        masters()[i].mutable_grad() = gradients[i];
    }
    optimizer_.step();
    optimizer_.zero_grad();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        if (gradients[i].defined()) {
            parameters_[i].detach().copy_(masters()[i]);
        }
    }
    return true;
}

LossScaler::LossScaler(double scale, int window) : scale_(scale), window_(window) {
    expects(scale > 0, "LossScaler: the scale must be above 0");
    expects(window >= 1, "LossScaler: the window must be 1 at least");
}

void LossScaler::update(bool taken) {
    taken_ = taken ? taken_ + 1 : 0;
    if (!taken) {
        scale_ /= 2;
    } else if (taken_ == window_) {
        scale_ *= 2;
        taken_ = 0;
    }
}

}  // namespace dist
