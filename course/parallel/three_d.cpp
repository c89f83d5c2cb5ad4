#include "course/parallel/three_d.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <array>
#include <limits>
#include <utility>

#include <torch/utils.h>

#include "course/nn/rows.hpp"
#include "course/parallel/mesh_gpt.hpp"
#include "course/parallel/optimizer.hpp"
#include "course/parallel/stop.hpp"
#include "course/parallel/together.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"
#include "exercises/08_model_parallel/vocab_parallel.hpp"

namespace dist::trainer {

namespace {

DeviceMesh make_mesh(const MeshShape& shape, const Communicator& comm) {
    if (ranks_of(shape) != comm.size()) {
        throw Stop(
            "--mesh " + describe(shape) + " has " + std::to_string(ranks_of(shape)) +
            " ranks, and here are " + std::to_string(comm.size()) + ": train -n " +
            std::to_string(ranks_of(shape))
        );
    }
    return {
        {{"tp", shape.tp}, {"cp", shape.cp}, {"dp", shape.dp}, {"pp", shape.pp}},
        "tp-cp-dp-pp",
        comm};
}

/// How ranks that hold the same parameters share them.
ParallelOptions data_options(const ParallelOptions& options) {
    constexpr std::array kByZero = {
        Parallel::average, Parallel::zero1, Parallel::zero2, Parallel::zero3};
    ParallelOptions data = options;
    data.parallel = kByZero.at(static_cast<std::size_t>(options.zero));
    return data;
}

/// Whether each target's score is the largest of all words', where each rank has those of V/t words.
at::Tensor are_right(const at::Tensor& scores, const at::Tensor& targets, const Communicator& tp) {
    const std::int64_t words = scores.size(-1);
    const at::Tensor own = targets.sub(words * tp.rank());
    const at::Tensor are_foreign = own.lt(0).logical_or(own.ge(words));
    const at::Tensor target =
        scores.gather(-1, own.masked_fill(are_foreign, 0).unsqueeze(-1))
            .squeeze(-1)
            .masked_fill(are_foreign, -std::numeric_limits<double>::infinity());
    const at::Tensor largest = at::stack({scores.amax(-1), target});
    ring_all_reduce(nn::floats(largest), ReduceOp::max, tp);
    return largest[0].eq(largest[1]);
}

}  // namespace

ThreeD::ThreeD(
    const ParallelOptions& options,
    const std::shared_ptr<nn::Model>& whole,
    Trace& trace,
    const Communicator& comm
)
    : options_(options),
      comm_(comm),
      mesh_(make_mesh(options.mesh, comm)),
      same_parameters_(mesh_.flatten({"dp", "cp"})),
      same_examples_(mesh_.flatten({"tp", "cp", "pp"})),
      one_copy_(mesh_.flatten({"tp", "pp"})),
      tokens_(gpt_tokens(options.gpt, mesh_.group("cp"))) {
    const torch::NoGradGuard no_grad;
    broadcast_parameters(whole->parameters(), 0, comm);
    const auto all = whole->named_parameters();
    for (const auto& parameter : all) {
        parameters_.push_back({parameter.key(), parameter.value().sizes().vec()});
    }
    const int stages = options.mesh.pp * options.chunks;
    for (int k = mesh_.coordinate("pp"); k < stages; k += options.mesh.pp) {
        const auto model = make_gpt_stage(
            options.gpt, {mesh_.group("tp"), mesh_.group("cp"), /*stage=*/k, stages}
        );
        for (const auto& part : model->named_parameters()) {
            part.value().copy_(gpt_part(part.key(), all[part.key()], mesh_.group("tp")));
        }
        stages_.push_back(
            {k, model, make_strategy(data_options(options), model, trace, same_parameters_)}
        );
    }
    for (const auto& parameter : all) {
        parameter.value().set_data(at::empty({0}));
    }
}

const Communicator& ThreeD::data_ranks(const Communicator& /*all*/) const {
    return mesh_.group("dp");
}

void ThreeD::zero_gradients() {
    for (const Stage& stage : stages_) {
        stage.data->zero_gradients();
    }
}

at::Tensor ThreeD::forward(const at::Tensor& inputs) {
    if (!in_test_) {
        inputs_ = inputs;
        return at::empty({0});
    }
    // each rank puts its tokens and words in their place among zeros
    const std::int64_t words = options_.gpt.vocabulary / options_.mesh.tp;
    const at::Tensor scores = at::zeros({inputs.size(0), inputs.size(1), options_.gpt.vocabulary});
    const at::Tensor own = stages_[0].data->forward(inputs.index_select(1, tokens_));
    scores.narrow(2, words * mesh_.coordinate("tp"), words).index_copy_(1, tokens_, own);
    ring_all_reduce(nn::floats(scores), ReduceOp::sum, same_examples_);
    return scores;
}

Judged ThreeD::judge(
    const at::Tensor& /*scores*/, const at::Tensor& labels, const Judge& /*task*/
) {
    const Communicator& tp = mesh_.group("tp");
    const at::Tensor inputs = inputs_.index_select(1, tokens_);
    const at::Tensor targets = labels.index_select(1, tokens_);
    const int m = options_.micro_batches;
    const std::int64_t size = inputs.size(0) / m;
    const at::Tensor sums = at::zeros({2});  // loss, share of right ones
    for (int i = 0; i < m; ++i) {
        const at::Tensor target = targets.narrow(0, i * size, size);
        const at::Tensor scores = stages_[0].data->forward(inputs.narrow(0, i * size, size));
        const at::Tensor loss = vocab_parallel_cross_entropy(scores, target, tp).mean().div(m);
        const at::Tensor right = are_right(scores.detach(), target, tp);
        sums.add_(at::stack({loss.detach(), right.to(at::kFloat).mean().div(m)}));
        stages_[0].data->prepare_for_backward(loss);
        loss.backward();
    }
    inputs_ = at::Tensor();
    // of the tokens of all: one of each tp group tells it
    sums.mul_(tp.rank() == 0 ? 1.0 / options_.mesh.cp : 0);
    ring_all_reduce(nn::floats(sums), ReduceOp::sum, same_examples_);
    return {sums[0].clone().requires_grad_(), sums[1]};
}

void ThreeD::with_weights(const std::function<void()>& body) {
    // each stage's weights are there while those behind it are asked for
    const std::function<void(std::size_t)> from = [&](std::size_t stage) {
        if (stage == stages_.size()) {
            in_test_ = true;
            body();
            return;
        }
        stages_[stage].data->with_weights([&] { from(stage + 1); });
    };
    from(0);
    in_test_ = false;
}

void ThreeD::prepare_for_backward(const at::Tensor& /*loss*/) {}

void ThreeD::exchange_gradients() {
    for (const Stage& stage : stages_) {
        stage.data->exchange_gradients();
    }
}

void ThreeD::step(double rate) {
    for (const Stage& stage : stages_) {
        stage.data->step(rate);
    }
}

void ThreeD::expect_equal(std::size_t done) const {
    constexpr int kWentWrong = 1;
    const auto expect = [&] {
        for (const Stage& stage : stages_) {
            stage.data->expect_equal(done);
        }
    };
    together(comm_, expect, kWentWrong);
}

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
