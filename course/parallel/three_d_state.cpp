// Checkpoints of a mesh: whole tensors, by the parts of many ranks.
#include <ATen/ops/zeros.h>

#include <torch/utils.h>

#include "course/nn/rows.hpp"
#include "course/parallel/mesh_gpt.hpp"
#include "course/parallel/optimizer.hpp"
#include "course/parallel/three_d.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist::trainer {

std::vector<std::string> ThreeD::kept_in(const StateDict& parts) const {
    std::vector<std::string> names;
    const std::string mine = stages_[0].model->named_parameters()[0].key();
    for (const auto& [name, tensor] : optimizer_state_of(mine, parts)) {
        names.push_back(name);
    }
    return names;
}

at::Tensor ThreeD::joined(
    const Parameter& parameter, const std::string& key, const StateDict& parts
) const {
    const at::Tensor whole = at::zeros(parameter.shape);
    const auto part = parts.find(key);
    const Communicator& tp = mesh_.group("tp");
    if (part != parts.end() && (tp.rank() == 0 || !is_on_every_rank(parameter.name))) {
        put_gpt_part(parameter.name, part->second, whole, tp);
    }
    ring_all_reduce(nn::floats(whole), ReduceOp::sum, one_copy_);
    return whole;
}

StateDict ThreeD::state_dict() const {
    const torch::NoGradGuard no_grad;
    StateDict parts;
    for (const Stage& stage : stages_) {
        parts.merge(stage.data->state_dict());
    }
    if (same_parameters_.rank() != 0) {
        return {};  // another rank has the same
    }
    const std::string mine = stages_[0].model->named_parameters()[0].key();
    StateDict state;
    for (const Parameter& parameter : parameters_) {
        const std::string name = model_name(parameter.name);
        state[name] = joined(parameter, name, parts);
        for (const std::string& kept : kept_in(parts)) {
            const std::string key = optimizer_name(parameter.name, kept);
            const at::Tensor own = parts.at(optimizer_name(mine, kept));
            // a count is the same everywhere
            state[key] = own.dim() == 0 ? own : joined(parameter, key, parts);
        }
    }
    return state;
}

void ThreeD::load_state_dict(const StateDict& state) {
    const Communicator& tp = mesh_.group("tp");
    for (const Stage& stage : stages_) {
        StateDict parts;
        for (const auto& parameter : stage.model->named_parameters()) {
            const std::string& name = parameter.key();
            parts[model_name(name)] = gpt_part(name, state.at(model_name(name)), tp);
            for (const auto& [kept, whole] : optimizer_state_of(name, state)) {
                parts[optimizer_name(name, kept)] =
                    whole.dim() == 0 ? whole : gpt_part(name, whole, tp);
            }
        }
        stage.data->load_state_dict(parts);
    }
}

}  // namespace dist::trainer
