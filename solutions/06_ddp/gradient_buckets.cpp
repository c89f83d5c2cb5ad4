#include "exercises/06_ddp/gradient_buckets.hpp"

#include <ATen/ops/zeros.h>
#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

namespace dist {

namespace {

/// The bucket that a dtype is filling, and its limit.
struct Filling {
    Bucket bucket;
    std::size_t size_bytes = 0;
    std::size_t limit = 0;  // limits[limit]
};

}  // namespace

std::vector<Bucket> gradient_buckets(
    std::span<const at::Tensor> parameters,
    std::span<const std::size_t> order,
    std::span<const std::size_t> limits
) {
    const auto numbers = std::views::iota(std::size_t{0}, parameters.size());
    expects(
        std::ranges::is_permutation(order, numbers),
        "gradient_buckets: order must name each parameter once"
    );
    expects(!limits.empty(), "gradient_buckets: there must be a limit");
    expects(std::ranges::count(limits, 0) == 0, "gradient_buckets: a limit must be at least 1");
    std::vector<Bucket> buckets;
    std::map<at::ScalarType, Filling> filling;
    for (const std::size_t i : order) {
        auto& [bucket, size_bytes, limit] = filling[parameters[i].scalar_type()];
        bucket.push_back(i);
        size_bytes += parameters[i].nbytes();
        if (size_bytes >= limits[limit]) {
            buckets.push_back(std::exchange(bucket, {}));
            size_bytes = 0;
            limit = std::min(limit + 1, limits.size() - 1);
        }
    }
    for (const std::size_t i : order) {  // buckets that are not full, by their first parameter
        Bucket& bucket = filling[parameters[i].scalar_type()].bucket;
        if (!bucket.empty() && bucket.front() == i) {
            buckets.push_back(bucket);
        }
    }
    return buckets;
}

at::Tensor flatten_gradients(std::span<const at::Tensor> parameters, const Bucket& bucket) {
    expects(!bucket.empty(), "flatten_gradients: a bucket has a parameter at least");
    const at::ScalarType dtype = parameters[bucket.front()].scalar_type();
    std::int64_t n = 0;
    for (const std::size_t i : bucket) {
        expects(parameters[i].scalar_type() == dtype, "flatten_gradients: a bucket has one dtype");
        n += parameters[i].numel();
    }
    const at::Tensor flat = at::zeros({n}, parameters[bucket.front()].options());
    std::int64_t begin = 0;
    for (const std::size_t i : bucket) {
        const at::Tensor& parameter = parameters[i];
        const at::Tensor part = flat.narrow(0, begin, parameter.numel()).view(parameter.sizes());
        if (parameter.grad().defined()) {
            part.copy_(parameter.grad());
        }
        parameter.mutable_grad() = part;
        begin += parameter.numel();
    }
    return flat;
}

}  // namespace dist
