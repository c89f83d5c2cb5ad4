#include "exercises/06_ddp/gradient_buckets.hpp"

#include <ATen/ops/zeros.h>

namespace dist {

std::vector<Bucket> gradient_buckets(
    std::span<const at::Tensor> parameters,
    std::span<const std::size_t> order,
    std::span<const std::size_t> limits
) {
    // TODO: several buckets are open at a time, one for each dtype. What do you have to know of each? Then
    // flatten_gradients: parameter.mutable_grad() can be assigned to, also a part of a larger tensor.
    throw NotImplemented("gradient_buckets");
}

at::Tensor flatten_gradients(std::span<const at::Tensor> parameters, const Bucket& bucket) {
    throw NotImplemented("gradient_buckets");
}

}  // namespace dist
