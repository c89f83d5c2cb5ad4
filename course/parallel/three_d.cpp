#include "course/parallel/three_d.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <mpi.h>

#include <torch/utils.h>

#include "course/nn/rows.hpp"
#include "course/parallel/clip.hpp"
#include "course/parallel/mesh_gpt.hpp"
#include "course/parallel/mesh_gradients.hpp"
#include "course/parallel/schedules.hpp"
#include "course/parallel/stop.hpp"
#include "course/parallel/together.hpp"
#include "course/runtime/error.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"
#include "exercises/08_model_parallel/pipeline_messages.hpp"
#include "exercises/08_model_parallel/pipeline_schedule.hpp"
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
        {{"tp", shape.tp}, {"cp", shape.cp}, {"ep", shape.ep}, {"dp", shape.dp}, {"pp", shape.pp}},
        "tp-cp-ep-dp-pp",
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

Schedule training_schedule(const ParallelOptions& options) {
    return insert_messages(pipeline_schedule(
        find_schedule(options.pipeline), options.mesh.pp, options.micro_batches, options.chunks
    ));
}

/// A batch as one micro-batch goes forward.
Schedule evaluation_schedule(const ParallelOptions& options) {
    const int p = options.mesh.pp;
    Schedule rows(static_cast<std::size_t>(p));
    for (int stage = 0; stage < p * options.chunks; ++stage) {
        rows[static_cast<std::size_t>(stage % p)].push_back({stage, ActionKind::forward, 0});
    }
    return insert_messages(rows);
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
      data_ranks_(mesh_.flatten({"dp", "ep"})),
      same_layers_(mesh_.flatten({"dp", "ep", "cp"})),
      same_experts_(mesh_.flatten({"dp", "cp"})),
      same_examples_(mesh_.flatten({"tp", "cp", "pp"})),
      one_copy_(mesh_.flatten({"tp", "pp", "ep"})),
      tokens_(gpt_tokens(options.gpt, mesh_.group("cp"))),
      training_(training_schedule(options)),
      evaluation_(evaluation_schedule(options)) {
    const torch::NoGradGuard no_grad;
    broadcast_parameters(whole->parameters(), 0, comm);
    const auto all = whole->named_parameters();
    for (const auto& parameter : all) {
        parameters_.push_back({parameter.key(), parameter.value().sizes().vec()});
    }
    const auto share = [&](const std::shared_ptr<nn::Model>& model, const Communicator& ranks) {
        for (const auto& part : model->named_parameters()) {
            part.value().copy_(gpt_part(part.key(), all[part.key()], mesh_.group("tp")));
        }
        shares_.push_back({model, make_strategy(data_options(options), model, trace, ranks)});
    };
    const int stages = options.mesh.pp * options.chunks;
    for (int k = mesh_.coordinate("pp"); k < stages; k += options.mesh.pp) {
        const auto [model, experts] = make_gpt_stage(
            options.gpt, {.tp = mesh_.group("tp"),
                          .cp = mesh_.group("cp"),
                          .ep = mesh_.group("ep"),
                          .data = same_layers_,
                          .stage = k,
                          .stages = stages,
                          .micro_batches = options.micro_batches,
                          .sequence_parallel = options.sequence_parallel}
        );
        share(model, same_layers_);
        stages_.push_back({k, *shares_.back().data});
        if (experts != nullptr) {
            share(experts, same_experts_);
        }
    }
    for (const auto& parameter : all) {
        parameter.value().set_data(at::empty({0}));
    }
}

const Communicator& ThreeD::data_ranks(const Communicator& /*all*/) const {
    return data_ranks_;
}

const Communicator& ThreeD::test_ranks(const Communicator& /*all*/) const {
    return mesh_.group("dp");
}

std::vector<at::Tensor> ThreeD::parameters() const {
    std::vector<at::Tensor> all;
    for (const Share& share : shares_) {
        const std::vector<at::Tensor> own = share.model->parameters();
        all.insert(all.end(), own.begin(), own.end());
    }
    return all;
}

bool ThreeD::counts(const std::string& parameter) const {
    return (mesh_.coordinate("tp") == 0 || !is_on_every_rank(parameter)) &&
           (mesh_.coordinate("ep") == 0 || is_of_expert(parameter));
}

void ThreeD::zero_gradients() {
    for (const Share& share : shares_) {
        share.data->zero_gradients();
    }
}

at::Tensor ThreeD::forward(const at::Tensor& inputs) {
    if (!in_test_) {
        inputs_ = inputs;
        return at::empty({0});
    }
    // each rank that has scores puts them in their place among zeros
    const at::Tensor all = at::zeros({inputs.size(0), inputs.size(1), options_.gpt.vocabulary});
    const auto put = [&](const at::Tensor& own, int /*micro_batch*/) {
        all.narrow(2, mesh_.coordinate("tp") * own.size(2), own.size(2))
            .index_copy_(1, tokens_, own);
        return own;
    };
    run_pipeline(
        evaluation_, stages_for(inputs.size(0)), {inputs.index_select(1, tokens_)}, put,
        mesh_.group("pp")
    );
    ring_all_reduce(nn::floats(all), ReduceOp::sum, same_examples_);
    return all;
}

std::vector<PipelineStage> ThreeD::stages_for(std::int64_t examples) const {
    const std::int64_t tokens =
        tokens_.numel() / (options_.sequence_parallel ? options_.mesh.tp : 1);
    std::vector<PipelineStage> stages;
    for (const Stage& stage : stages_) {
        stages.push_back(
            {.number = stage.number,
             .forward = [&data = stage.data](const at::Tensor& x) { return data.forward(x); },
             .input_shape = {examples, tokens, options_.gpt.width}}
        );
    }
    return stages;
}

Judged ThreeD::judge(
    const at::Tensor& /*scores*/, const at::Tensor& labels, const Judge& /*task*/
) {
    const Communicator& tp = mesh_.group("tp");
    const int m = options_.micro_batches;
    const std::vector<at::Tensor> inputs = inputs_.index_select(1, tokens_).chunk(m);
    const std::vector<at::Tensor> targets = labels.index_select(1, tokens_).chunk(m);
    const at::Tensor sums = at::zeros({2});  // losses, shares of right ones
    const auto loss = [&](const at::Tensor& scores, int i) {
        const at::Tensor& wanted = targets[static_cast<std::size_t>(i)];
        const at::Tensor mean = vocab_parallel_cross_entropy(scores, wanted, tp).mean();
        const at::Tensor right = are_right(scores.detach(), wanted, tp).to(at::kFloat).mean();
        sums.add_(at::stack({mean.detach(), right}));
        return mean;
    };
    run_pipeline(training_, stages_for(inputs[0].size(0)), inputs, loss, mesh_.group("pp"));
    inputs_ = at::Tensor();
    // the last stage has them; of its ranks, one of each tp group tells those of its tokens
    sums.mul_(tp.rank() == 0 ? 1.0 / (m * options_.mesh.cp) : 0);
    ring_all_reduce(nn::floats(sums), ReduceOp::sum, same_examples_);
    return {sums[0].clone().requires_grad_(), sums[1]};
}

void ThreeD::with_weights(const std::function<void()>& body) {
    // the weights of each are there while those behind it are asked for
    const std::function<void(std::size_t)> from = [&](std::size_t share) {
        if (share == shares_.size()) {
            in_test_ = true;
            body();
            return;
        }
        shares_[share].data->with_weights([&] { from(share + 1); });
    };
    from(0);
    in_test_ = false;
}

void ThreeD::prepare_for_backward(const at::Tensor& /*loss*/) {}

void ThreeD::exchange_gradients() {
    for (const auto& [model, data] : shares_) {
        if (options_.sequence_parallel) {
            add_up_own_tokens(*model, mesh_.group("tp"));
        }
        divide_experts(*model, mesh_.group("ep"));
        data->exchange_gradients();
    }
}

double ThreeD::clip_gradients(double limit) {
    double squares = 0;
    for (const Share& share : shares_) {
        for (const auto& parameter : share.model->named_parameters()) {
            if (counts(parameter.key())) {
                squares += squared_norm({&parameter.value(), 1});
            }
        }
    }
    const MPI_Comm group = one_copy_.handle();
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, group));
    const double norm = std::sqrt(squares);
    for (const Share& share : shares_) {
        clip_to(limit, norm, share.model->parameters());
    }
    return norm;
}

void ThreeD::step(double rate) {
    for (const Share& share : shares_) {
        share.data->step(rate);
    }
}

void ThreeD::expect_equal(std::size_t done) const {
    constexpr int kWentWrong = 1;
    const auto expect = [&] {
        for (const Share& share : shares_) {
            share.data->expect_equal(done);
        }
    };
    together(comm_, expect, kWentWrong);
}

}  // namespace dist::trainer
