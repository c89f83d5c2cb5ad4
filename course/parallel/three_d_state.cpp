// Checkpoints of a mesh: whole tensors, by the parts of many ranks.
#include <ATen/ops/zeros.h>

#include <torch/utils.h>

#include "course/nn/rows.hpp"
#include "course/parallel/mesh_gpt.hpp"
#include "course/parallel/optimizer.hpp"
#include "course/parallel/three_d.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist::trainer {

std::string ThreeD::own_parameter() const {
    return shares_.back().model->named_parameters()[0].key();
}

std::vector<std::string> ThreeD::kept_in(const StateDict& parts) const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : optimizer_state_of(own_parameter(), parts)) {
        names.push_back(name);
    }
    return names;
}

at::Tensor ThreeD::joined(
    const Parameter& parameter, const std::string& key, const StateDict& parts
) const {
    const at::Tensor whole = at::zeros(parameter.shape);
    const auto part = parts.find(key);
    if (part != parts.end() && counts(parameter.name)) {
        put_gpt_part(parameter.name, part->second, whole, mesh_.group("tp"));
    }
    ring_all_reduce(nn::floats(whole), ReduceOp::sum, one_copy_);
    return whole;
}

StateDict ThreeD::state_dict() const {
    const torch::NoGradGuard no_grad;
    StateDict parts;
    for (const Share& share : shares_) {
        parts.merge(share.data->state_dict());
    }
    if (same_experts_.rank() != 0) {
        return {};  // another rank has the same
    }
    StateDict state;
    for (const Parameter& parameter : parameters_) {
        const std::string name = model_name(parameter.name);
        state[name] = joined(parameter, name, parts);
        for (const std::string& kept : kept_in(parts)) {
            const std::string key = optimizer_name(parameter.name, kept);
            const at::Tensor own = parts.at(optimizer_name(own_parameter(), kept));
            // a count is the same everywhere
            state[key] = own.dim() == 0 ? own : joined(parameter, key, parts);
        }
    }
    return state;
}

std::vector<StatePart> ThreeD::parts() const {
    std::vector<StatePart> parts;
    for (const auto& [name, tensor] : state_dict()) {
        parts.push_back(first_part(name, tensor, comm_));
    }
    return parts;
}

void ThreeD::load_state_dict(const StateDict& state) {
    const Communicator& tp = mesh_.group("tp");
    for (const Share& share : shares_) {
        StateDict parts;
        for (const auto& parameter : share.model->named_parameters()) {
            const std::string& name = parameter.key();
            parts[model_name(name)] = gpt_part(name, state.at(model_name(name)), tp);
            for (const auto& [kept, whole] : optimizer_state_of(name, state)) {
                parts[optimizer_name(name, kept)] =
                    whole.dim() == 0 ? whole : gpt_part(name, whole, tp);
            }
        }
        share.data->load_state_dict(parts);
    }
}

}  // namespace dist::trainer
