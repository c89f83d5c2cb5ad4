#include "course/nn/optimizer.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cmath>
#include <utility>

#include "course/nn/memory.hpp"

namespace dist::nn {

namespace {

/// Elements of a piece: five of them stay in a core's cache.
constexpr std::int64_t kPiece = 1 << 15;

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options, std::vector<at::Tensor> parameters)
    : options_(options), parameters_(std::move(parameters)), kept_(parameters_.size()) {}

void Optimizer::zero_grad() const {
    for (const at::Tensor& parameter : parameters_) {
        parameter.mutable_grad().reset();
    }
}

void Optimizer::step() {
    const c10::AutoGradMode no_grad(false);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        std::vector<at::Tensor> tensors = {parameters_[i].detach(), parameters_[i].grad()};
        if (!tensors[1].defined()) {
            continue;
        }
        Kept& kept = kept_[i];
        ++kept.steps;
        const MemoryScope scope(MemoryKind::optimizer);
        while (kept.tensors.size() < names().size()) {
            kept.tensors.push_back(at::zeros_like(tensors[0]));
        }
        tensors.insert(tensors.end(), kept.tensors.begin(), kept.tensors.end());
        const auto can_be_cut = [](const at::Tensor& t) { return t.is_cpu() && t.is_contiguous(); };
        const std::int64_t n = tensors[0].numel();
        if (n <= kPiece || !std::ranges::all_of(tensors, can_be_cut)) {
            update(tensors, kept.steps);
            continue;
        }
        for (std::int64_t begin = 0; begin < n; begin += kPiece) {
            std::vector<at::Tensor> pieces;
            for (const at::Tensor& tensor : tensors) {
                pieces.push_back(tensor.view(-1).narrow(0, begin, std::min(kPiece, n - begin)));
            }
            update(pieces, kept.steps);
        }
    }
}

void Optimizer::update(std::span<const at::Tensor> tensors, std::int64_t steps) const {
    const at::Tensor& weights = tensors[0];
    const at::Tensor& gradient = tensors[1];
    if (options_.kind == OptimizerOptions::Kind::adamw) {
        const at::Tensor& mean = tensors[2];
        const at::Tensor& square = tensors[3];
        const auto t = static_cast<double>(steps);
        weights.mul_(1 - options_.rate * options_.weight_decay);
        mean.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
        square.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
        const double correction = std::sqrt(1 - std::pow(options_.beta2, t));
        const at::Tensor root = square.sqrt().div_(correction).add_(options_.epsilon);
        weights.addcdiv_(mean, root, -options_.rate / (1 - std::pow(options_.beta1, t)));
        return;
    }
    at::Tensor by = gradient;
    if (options_.weight_decay != 0) {
        by = by.add(weights, options_.weight_decay);
    }
    if (options_.momentum != 0) {
        const at::Tensor& buffer = tensors[2];
        buffer.mul_(options_.momentum).add_(by);
        by = options_.nesterov ? by.add(buffer, options_.momentum) : buffer;
    }
    weights.add_(by, -options_.rate);
}

std::vector<std::string> Optimizer::names() const {
    if (options_.kind == OptimizerOptions::Kind::adamw) {
        return {"exp_avg", "exp_avg_sq"};
    }
    return options_.momentum == 0 ? std::vector<std::string>{}
                                  : std::vector<std::string>{"momentum_buffer"};
}

OptimizerState Optimizer::state(std::size_t i) const {
    const Kept& kept = kept_[i];
    OptimizerState state;
    for (std::size_t k = 0; k < kept.tensors.size(); ++k) {
        state[names()[k]] = kept.tensors[k];
    }
    if (options_.kind == OptimizerOptions::Kind::adamw && kept.steps > 0) {
        state["step"] = at::full({}, kept.steps, at::kLong);
    }
    return state;
}

void Optimizer::load_state(std::size_t i, const OptimizerState& state) {
    Kept kept;
    if (state.empty()) {
        kept_[i] = kept;
        return;
    }
    for (const std::string& name : names()) {
        kept.tensors.push_back(state.at(name));
    }
    if (options_.kind == OptimizerOptions::Kind::adamw) {
        kept.steps = state.at("step").item<std::int64_t>();
    }
    kept_[i] = std::move(kept);
}

}  // namespace dist::nn
