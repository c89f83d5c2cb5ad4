#include "course/nn/mixture.hpp"

#include <ATen/ops/zeros.h>
#include <cmath>

#include "course/nn/with_loss.hpp"

namespace dist::nn {

at::Tensor mixture(
    const at::Tensor& x,
    const at::Tensor& scores,
    const ExpertShape& shape,
    const ExpertCall& experts
) {
    const auto [sorted, best_first] =
        scores.detach().sort(/*stable=*/true, -1, /*descending=*/true);
    const at::Tensor chosen = at::zeros(scores.sizes(), scores.options())
                                  .scatter(1, best_first.narrow(1, 0, shape.choices), 1);
    const double even =
        static_cast<double>(x.size(0) * shape.choices) / static_cast<double>(shape.count);
    const at::Tensor kept =
        chosen.mul(chosen.cumsum(0).le(std::ceil(even * shape.capacity_factor)));
    const at::Tensor probabilities = scores.softmax(1);

    at::Tensor y = at::zeros(x.sizes(), x.options());
    for (std::int64_t e = 0; e < shape.count; ++e) {
        const at::Tensor tokens = kept.select(1, e).nonzero().flatten();
        const at::Tensor weights = probabilities.select(1, e).index_select(0, tokens);
        y = y.index_add(0, tokens, experts(e, x.index_select(0, tokens)).mul(weights.unsqueeze(1)));
    }
    const at::Tensor shares = chosen.mean(0).div(shape.choices);
    const at::Tensor balance = shares.dot(probabilities.mean(0)).mul(shape.count);
    return with_loss(y, balance.mul(shape.balance));
}

}  // namespace dist::nn
