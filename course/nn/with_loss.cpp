#include "course/nn/with_loss.hpp"

#include <ATen/ops/ones.h>

#include <torch/csrc/autograd/custom_function.h>

namespace dist::nn {

namespace {

struct WithLoss : torch::autograd::Function<WithLoss> {
    static at::Tensor forward(
        torch::autograd::AutogradContext* /*ctx*/, const at::Tensor& y, const at::Tensor& /*loss*/
    ) {
        return y.detach();
    }

    static torch::autograd::variable_list backward(
        torch::autograd::AutogradContext* /*ctx*/, const torch::autograd::variable_list& gradients
    ) {
        return {gradients[0], at::ones({})};
    }
};

}  // namespace

at::Tensor with_loss(const at::Tensor& y, const at::Tensor& loss) {
    return WithLoss::apply(y, loss);
}

}  // namespace dist::nn
