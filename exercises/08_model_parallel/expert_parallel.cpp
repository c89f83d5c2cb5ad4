#include "exercises/08_model_parallel/expert_parallel.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "course/nn/rows.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/02_naive_collectives/all_to_all.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

std::int64_t expert_capacity(
    std::int64_t tokens, std::int64_t k, std::int64_t experts, double factor
) {
    throw NotImplemented("expert_capacity");
}

Routing route(const at::Tensor& scores, std::int64_t k, double factor) {
    throw NotImplemented("route");
}

at::Tensor balance_loss(const Routing& routing, const Communicator& comm) {
    throw NotImplemented("balance_loss");
}

at::Tensor exchange_rows(
    const at::Tensor& rows,
    const std::vector<std::int64_t>& sends,
    const std::vector<std::int64_t>& receives,
    const Communicator& comm
) {
    throw NotImplemented("exchange_rows");
}

at::Tensor expert_parallel(
    const at::Tensor& x, const Routing& routing, const Experts& experts, const Communicator& comm
) {
    // TODO: what must a rank know before it can receive? In which order do rows leave, so that
    // those for one rank, and those for one expert, lie side by side? How does a result find its
    // token again?
    // Given: torch::autograd::Function, for exchange_rows(); nn::floats(tensor) for messages.
    throw NotImplemented("expert_parallel");
}

}  // namespace dist
