#include "course/parallel/mesh_experts.hpp"

#include <c10/core/GradMode.h>
#include <string>

#include "course/nn/with_loss.hpp"
#include "exercises/08_model_parallel/expert_parallel.hpp"

namespace dist::trainer {

MeshExperts::MeshExperts(const nn::GptShape& shape, const GptPlace& place)
    : shape_(shape.experts), place_(place) {
    const std::int64_t count = shape.experts.count / place.ep.size();
    for (std::int64_t e = place.ep.rank() * count; e < (place.ep.rank() + 1) * count; ++e) {
        const auto expert =
            register_module(std::to_string(e), std::make_shared<torch::nn::Module>());
        own_.emplace_back(shape.width, place, *expert);
    }
}

at::Tensor MeshExperts::forward(const at::Tensor& x, const at::Tensor& scores) const {
    const Routing routing = route(scores.flatten(0, 1), shape_.choices, shape_.capacity_factor);
    const auto call = [this](std::int64_t local, const at::Tensor& tokens) {
        return own_[static_cast<std::size_t>(local)].forward(tokens);
    };
    const at::Tensor y = expert_parallel(x.flatten(0, 1), routing, call, place_.ep).view(x.sizes());
    if (!c10::GradMode::is_enabled()) {
        return y;
    }
    const at::Tensor balance = balance_loss(routing, place_.data);
    return nn::with_loss(y, balance.mul(shape_.balance / place_.micro_batches));
}

}  // namespace dist::trainer
