#include "exercises/06_ddp/unused_parameters.hpp"

#include "course/nn/graph.hpp"

namespace dist {

std::vector<std::size_t> unused_parameters(
    const at::Tensor& loss, std::span<const at::Tensor> parameters
) {
    // TODO: begin at nn::GraphNode(loss), follow next(), and keep the nodes that you have seen in a
    // std::set. Where node.leaf() is defined, a way has come to its end.
    throw NotImplemented("unused_parameters");
}

std::vector<std::size_t> unused_everywhere(
    std::span<const std::size_t> unused, std::size_t parameters, const Communicator& comm
) {
    throw NotImplemented("unused_parameters");
}

}  // namespace dist
