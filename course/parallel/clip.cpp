#include "course/parallel/clip.hpp"

namespace dist::trainer {

double squared_norm(std::span<const at::Tensor> parameters) {
    double sum = 0;
    for (const at::Tensor& parameter : parameters) {
        if (parameter.grad().defined()) {
            sum += parameter.grad().square().sum(at::kDouble).item<double>();
        }
    }
    return sum;
}

void clip_to(double limit, double norm, std::span<const at::Tensor> parameters) {
    constexpr double kSmall =
        1e-6;  // as PyTorch: where there is no gradient, nothing is divided by 0
    const double factor = limit / (norm + kSmall);
    if (factor >= 1) {
        return;
    }
    for (const at::Tensor& parameter : parameters) {
        if (parameter.grad().defined()) {
            parameter.mutable_grad() = parameter.grad().mul(factor);
        }
    }
}

}  // namespace dist::trainer
