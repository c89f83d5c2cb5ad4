#include "exercises/08_model_parallel/pipeline.hpp"

#include "course/nn/gradient_edge.hpp"
#include "course/nn/rows.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

std::vector<at::Tensor> run_pipeline(
    const Schedule& rows,
    const std::vector<PipelineStage>& stages,
    const std::vector<at::Tensor>& inputs,
    const std::function<at::Tensor(const at::Tensor& output, int micro_batch)>& loss,
    const Communicator& comm
) {
    // TODO: a loop over this rank's row. What does each action need, who has made it, and who needs
    // what it makes? What has to be kept between F and B, and what between I and W?
    // Given: nn::GradientEdge, nn::grad and nn::backward, for I and W; nn::floats.
    throw NotImplemented("pipeline");
}

void all_reduce_tied_gradient(const at::Tensor& weight, const Communicator& comm) {
    throw NotImplemented("pipeline");
}

}  // namespace dist
