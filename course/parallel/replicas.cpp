#include "course/parallel/replicas.hpp"

#include <cmath>
#include <utility>

#include "course/parallel/clip.hpp"
#include "course/parallel/optimizer.hpp"

namespace dist::trainer {

Replicas::Replicas(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    const Communicator& comm,
    std::string author
)
    : WholeModel(options, std::move(model), comm, std::move(author)),
      optimizer_(optimizer_options(options), parameters()) {}

void Replicas::zero_gradients() {
    // not zeroed in place: average_gradients may have left a view, which cannot be
    optimizer_.zero_grad();
}

double Replicas::clip_gradients(double limit) {
    const double norm = std::sqrt(squared_norm(parameters()));
    clip_to(limit, norm, parameters());
    return norm;
}

void Replicas::step(double rate) {
    optimizer_.set_rate(rate);
    optimizer_.step();
}

StateDict Replicas::state_dict() const {
    StateDict state = WholeModel::state_dict();
    for (const auto& [name, tensor] : optimizer_state(optimizer_, model().named_parameters())) {
        state[name] = tensor.cpu();
    }
    return state;
}

std::vector<StatePart> Replicas::parts() const {
    std::vector<StatePart> parts = model_parts();
    for (const auto& [name, tensor] : optimizer_state(optimizer_, model().named_parameters())) {
        parts.push_back(equal_part(name, tensor, comm()));
    }
    return parts;
}

void Replicas::load_state_dict(const StateDict& state) {
    WholeModel::load_state_dict(state);
    load_optimizer_state(optimizer_, model().named_parameters(), state);
}

}  // namespace dist::trainer
