#include "exercises/06_ddp/unused_parameters.hpp"

#include "course/nn/graph.hpp"

namespace dist {

std::vector<std::size_t> unused_parameters(
    const at::Tensor& loss, std::span<const at::Tensor> parameters
) {
    // TODO: nn::GraphNode (course/nn/graph.hpp) shows you the graph. How often does your walk come to a node
    // that many ways lead to?
    throw NotImplemented("unused_parameters");
}

std::vector<std::size_t> unused_everywhere(
    std::span<const std::size_t> unused, std::size_t parameters, const Communicator& comm
) {
    throw NotImplemented("unused_parameters");
}

}  // namespace dist
