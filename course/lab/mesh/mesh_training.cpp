#include "course/lab/mesh/mesh_training.hpp"

#include <ATen/ops/randint.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <torch/utils.h>

#include "course/lab/mesh/mesh_formulas.hpp"
#include "course/nn/gpt.hpp"
#include "course/parallel/stop.hpp"
#include "course/runtime/patient_calls.hpp"

namespace dist::lab {

using nn::MemoryKind;
using nn::MemoryScope;

trainer::Options trainer_options(const MeshOptions& options, const trainer::MeshShape& mesh) {
    if (options.windows % mesh.dp != 0) {
        throw trainer::Stop(
            "--mesh dp=" + std::to_string(mesh.dp) + " does not divide --batch " +
            std::to_string(options.windows)
        );
    }
    std::vector<std::string> words = {"bench mesh"};
    const auto add = [&](const std::string& name, const std::string& value) {
        words.push_back(name);
        words.push_back(value);
    };
    add("--model", trainer::kGpt);
    add("--parallel", "3d");
    add("--mesh", describe(mesh));
    add("--layers", std::to_string(options.gpt.layers));
    add("--width", std::to_string(options.gpt.width));
    add("--heads", std::to_string(options.gpt.heads));
    add("--context", std::to_string(options.gpt.context));
    add("--batch", std::to_string(options.windows / mesh.dp));
    add("--pipeline", options.pipeline);
    add("--zero", std::to_string(options.zero));
    add("--optimizer", options.optimizer);
    if (options.micro_batches > 0) {
        add("--micro-batches", std::to_string(options.micro_batches));
    }
    if (options.sequence_parallel) {
        words.emplace_back("--sequence-parallel");
    }
    std::vector<const char*> arguments;
    std::ranges::transform(words, std::back_inserter(arguments), [](const std::string& word) {
        return word.c_str();
    });
    trainer::Options read;
    trainer::parse_options(static_cast<int>(arguments.size()), arguments.data(), read);
    return read;
}

MeshTraining::MeshTraining(const trainer::Options& options, const Communicator& comm)
    : options_(options), trace_({}, comm) {
    torch::manual_seed(1);  // the same weights on every mesh
    const std::shared_ptr<nn::Model> whole = nn::make_gpt(options.gpt);
    {
        const MemoryScope scope(MemoryKind::parameters);
        way_ = std::make_unique<trainer::ThreeD>(options_, whole, trace_, comm);
    }
    // ranks of one example have the same words; what is in them takes no more or less time
    torch::manual_seed(static_cast<std::uint64_t>(1 + way_->data_ranks(comm).rank()));
    const auto size = static_cast<std::int64_t>(options.batch);
    words_ = at::randint(options.gpt.vocabulary, {size, options.gpt.context + 1}, at::kLong);
}

void MeshTraining::step() {
    const double before_s = message_seconds().here;
    {
        const MemoryScope scope(MemoryKind::activations);
        way_->zero_gradients();
        begin_gradients();
        const std::int64_t context = options_.gpt.context;
        const at::Tensor scores = way_->forward(words_.narrow(1, 0, context));
        const at::Tensor loss = way_->judge(scores, words_.narrow(1, 1, context), {}).loss;
        way_->prepare_for_backward(loss);
        loss.backward();
    }
    {
        const MemoryScope scope(MemoryKind::gradients);
        way_->exchange_gradients();
    }
    {
        const MemoryScope scope(MemoryKind::optimizer);
        constexpr double kRate = 1e-3;
        way_->step(kRate);
    }
    waited_s_ = message_seconds().here - before_s;
}

/// Gradients have memory before backward brings them, or it would count as activations. With --zero
/// they have places of their own.
void MeshTraining::begin_gradients() const {
    if (options_.zero == 0) {
        const MemoryScope scope(MemoryKind::gradients);
        for (const at::Tensor& parameter : way_->parameters()) {
            parameter.mutable_grad() = at::zeros_like(parameter.detach());
        }
    }
}

std::array<std::size_t, 4> MeshTraining::sent() const {
    const auto along = [&](const char* name) {
        return bytes_sent(way_->mesh().group(name).handle());
    };
    const std::size_t pp = along("pp");
    const std::size_t cp = along("cp");
    const std::size_t tp = along("tp");
    const std::size_t loss = bytes_sent(way_->same_examples().handle());
    return {bytes_sent() - pp - cp - tp - loss, pp, cp, tp};  // all others are of gradients
}

MeshBytes MeshTraining::measure_bytes(const nn::MemoryBytes& before) {
    constexpr int kWarmUp = 2;  // the optimizer keeps something
    for (int i = 0; i < kWarmUp; ++i) {
        step();
    }
    const auto beside_states = [](const nn::MemoryBytes& held) {
        return held.of(MemoryKind::activations) + held.of(MemoryKind::other);
    };
    const std::size_t between_steps = beside_states(nn::held_memory());
    std::size_t most = between_steps;
    nn::on_memory_change([&](const nn::MemoryBytes& held) {
        most = std::max(most, beside_states(held));
    });
    const auto sent_before = sent();
    step();
    const auto sent_after = sent();
    nn::on_memory_change({});
    const nn::MemoryBytes held = nn::held_memory();
    MeshBytes bytes{};
    for (std::size_t i = 0; i < sent_after.size(); ++i) {
        bytes[i] = sent_after[i] - sent_before[i];
    }
    std::size_t next = sent_after.size();
    for (const MemoryKind kind :
         {MemoryKind::parameters, MemoryKind::gradients, MemoryKind::optimizer}) {
        bytes[next++] = held.of(kind) - before.of(kind);
    }
    bytes[next] = most - between_steps;
    return bytes;
}

MeshBytes MeshTraining::formula() const {
    const auto at = [&](const char* name) { return way_->mesh().coordinate(name); };
    return mesh_formula(options_, {.dp = at("dp"), .pp = at("pp"), .cp = at("cp"), .tp = at("tp")});
}

}  // namespace dist::lab
