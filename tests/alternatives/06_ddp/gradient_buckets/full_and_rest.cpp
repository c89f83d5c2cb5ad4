// All that is full in one list and all that is not in another; gradients put together by cat.
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <map>
#include <set>

#include "exercises/06_ddp/gradient_buckets.hpp"

namespace dist {

std::vector<Bucket> gradient_buckets(
    std::span<const at::Tensor> parameters,
    std::span<const std::size_t> order,
    std::span<const std::size_t> limits
) {
    const std::set<std::size_t> numbers(order.begin(), order.end());
    expects(
        order.size() == parameters.size() && numbers.size() == order.size() &&
            (numbers.empty() || *numbers.rbegin() + 1 == order.size()),
        "gradient_buckets: order must name each parameter once"
    );
    expects(!limits.empty() && !std::ranges::count(limits, 0), "gradient_buckets: no limit of 0");
    std::vector<Bucket> full;
    std::vector<Bucket> rest;
    std::map<at::ScalarType, std::size_t> closed;  // buckets of each dtype
    const auto bytes = [&](const Bucket& bucket) {
        std::size_t sum = 0;
        for (const std::size_t i : bucket) {
            sum += parameters[i].nbytes();
        }
        return sum;
    };
    for (const std::size_t i : order) {
        const at::ScalarType dtype = parameters[i].scalar_type();
        auto mine = std::ranges::find_if(rest, [&](const Bucket& bucket) {
            return parameters[bucket.front()].scalar_type() == dtype;
        });
        if (mine == rest.end()) {
            mine = rest.insert(rest.end(), Bucket{});
        }
        mine->push_back(i);
        if (bytes(*mine) >= limits[std::min(closed[dtype], limits.size() - 1)]) {
            full.push_back(*mine);
            rest.erase(mine);
            ++closed[dtype];
        }
    }
    full.insert(full.end(), rest.begin(), rest.end());
    return full;
}

at::Tensor flatten_gradients(std::span<const at::Tensor> parameters, const Bucket& bucket) {
    expects(!bucket.empty(), "flatten_gradients: no parameter");
    std::vector<at::Tensor> rows;
    for (const std::size_t i : bucket) {
        expects(
            parameters[i].scalar_type() == parameters[bucket[0]].scalar_type(),
            "flatten_gradients: two dtypes"
        );
        const at::Tensor& gradient = parameters[i].grad();
        const at::Tensor there = gradient.defined() ? gradient : at::zeros_like(parameters[i]);
        rows.push_back(there.detach().reshape(-1));
    }
    const at::Tensor flat = at::cat(rows);
    std::int64_t end = 0;
    for (const std::size_t i : bucket) {
        const std::int64_t begin = end;
        end += parameters[i].numel();
        parameters[i].mutable_grad() = flat.slice(0, begin, end).reshape(parameters[i].sizes());
    }
    return flat;
}

}  // namespace dist
