#include "course/parallel/mesh_layers.hpp"

#include <ATen/ops/gelu.h>

namespace dist::trainer {

MeshMlp::MeshMlp(std::int64_t width, const GptPlace& place, torch::nn::Module& owner)
    : place_(place),
      in_(owner.register_module(
          "mlp_in", std::make_shared<MeshColumns>(width, 4 * width, /*bias=*/true, place.tp)
      )),
      out_(owner.register_module(
          "mlp_out", std::make_shared<MeshRows>(4 * width, width, /*bias=*/true, place.tp)
      )) {}

at::Tensor MeshMlp::forward(const at::Tensor& x) const {
    return out_->forward(at::gelu(in_->forward(x, place_)), place_);
}

}  // namespace dist::trainer
