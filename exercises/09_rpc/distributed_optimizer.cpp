#include "exercises/09_rpc/distributed_optimizer.hpp"

#include "course/nn/tensor_bytes.hpp"

namespace dist {

struct ParameterOwner::State {
    // the parameters of this rank, and the optimizers that others have made here
};

ParameterOwner::ParameterOwner(Rpc& rpc, GradientsIn gradients) {
    // TODO: what does an owner have to do when an optimizer is made, and when it steps? Define a
    // function for each. The trainer's part is to call all owners, and to wait for all.
    throw NotImplemented("distributed_optimizer");
}

ParameterOwner::~ParameterOwner() = default;

void ParameterOwner::add(const std::string& name, const at::Tensor& parameter) {
    throw NotImplemented("distributed_optimizer");
}

struct DistributedOptimizer::State {
    // what a step has to know
};

DistributedOptimizer::DistributedOptimizer(
    Rpc& rpc, const nn::OptimizerOptions& options, const std::vector<RemoteParameter>& parameters
) {
    throw NotImplemented("distributed_optimizer");
}

DistributedOptimizer::~DistributedOptimizer() = default;

void DistributedOptimizer::step(ContextId context) {
    throw NotImplemented("distributed_optimizer");
}

}  // namespace dist
