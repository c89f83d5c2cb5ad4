#include "exercises/06_ddp/gradient_buckets.hpp"

#include <ATen/ops/zeros.h>

namespace dist {

std::vector<Bucket> gradient_buckets(
    std::span<const at::Tensor> parameters,
    std::span<const std::size_t> order,
    std::span<const std::size_t> limits
) {
    // TODO: go through `order`; each dtype fills a bucket of its own, and has its own place in
    // `limits`. What is left in the end is a bucket, too. Then flatten_gradients: a part of the flat
    // tensor (narrow, then view) can be assigned to parameter.mutable_grad().
    throw NotImplemented("gradient_buckets");
}

at::Tensor flatten_gradients(std::span<const at::Tensor> parameters, const Bucket& bucket) {
    throw NotImplemented("gradient_buckets");
}

}  // namespace dist
