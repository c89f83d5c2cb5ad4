#include "course/parallel/mesh_gradients.hpp"

#include <vector>

#include "course/parallel/mesh_gpt.hpp"
#include "exercises/08_model_parallel/sequence_parallel.hpp"

namespace dist::trainer {

void add_up_own_tokens(const nn::Model& model, const Communicator& tp) {
    std::vector<at::Tensor> parameters;
    for (const auto& parameter : model.named_parameters()) {
        if (is_used_for_own_tokens(parameter.key())) {
            parameters.push_back(parameter.value());
        }
    }
    all_reduce_sequence_parallel_gradients(parameters, tp);
}

void divide_experts(const nn::Model& model, const Communicator& ep) {
    for (const auto& parameter : model.named_parameters()) {
        if (is_of_expert(parameter.key())) {
            parameter.value().mutable_grad().div_(ep.size());
        }
    }
}

}  // namespace dist::trainer
