#include "course/nn/gradient_row.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <utility>

#include "course/nn/memory.hpp"

namespace dist::nn {

GradientRow::GradientRow(std::vector<at::Tensor> parameters, std::int64_t length)
    : parameters_(std::move(parameters)), length_(length) {
    clear();
}

void GradientRow::begin() {
    if (!row_.defined()) {
        const MemoryScope scope(MemoryKind::gradients);
        row_ = at::zeros({length_}, at::kFloat);
    }
}

void GradientRow::take(std::size_t k, double factor) {
    begin();
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < k; ++i) {
        begin += parameters_[i].numel();
    }
    at::Tensor& gradient = parameters_[k].mutable_grad();
    at::Tensor place = row_.narrow(0, begin, gradient.numel()).view(gradient.sizes());
    // of the gradient's dtype: a double would divide a single number in double
    at::mul_out(place, gradient, at::scalar_tensor(factor, gradient.scalar_type()));
    gradient.reset();
    --missing_;
}

at::Tensor GradientRow::release() {
    begin();
    at::Tensor row = row_;
    clear();
    return row;
}

void GradientRow::clear() {
    row_.reset();
    missing_ = parameters_.size();
    for (const at::Tensor& parameter : parameters_) {
        parameter.mutable_grad().reset();
    }
}

}  // namespace dist::nn
