// Pipeline and tensor groups of 64 simulated ranks: losses, outputs and gradients are those of one process. Tensor ranks
// add up in an order of their own, so there all numbers are whole, and sums exact in any order.
#include <ATen/Parallel.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/environment.hpp"
#include "exercises/08_model_parallel/device_mesh.hpp"
#include "exercises/08_model_parallel/pipeline.hpp"
#include "exercises/08_model_parallel/pipeline_messages.hpp"
#include "exercises/08_model_parallel/pipeline_schedule.hpp"
#include "exercises/08_model_parallel/tensor_parallel.hpp"
#include "exercises/08_model_parallel/vocab_parallel.hpp"

namespace dist {
namespace {

constexpr int kMicroBatches = 4;

/// Counts what is not as in one process, and says which.
class Checks {
  public:
    explicit Checks(const Communicator& comm) : rank_(comm.rank()) {}

    void same(
        const std::string& what,
        const at::Tensor& got,
        const at::Tensor& expected,
        double tolerance = 0
    ) {
        const bool comparable = got.defined() && got.sizes() == expected.sizes();
        const double off =
            comparable ? got.sub(expected).abs().max().item<double>() : tolerance + 1;
        if (!(off <= tolerance)) {
            std::cerr << "rank " << rank_ << ": " << what << " is off by " << off << std::endl;
            ++wrong_;
        }
    }

    [[nodiscard]] int wrong() const { return wrong_; }

  private:
    int rank_;
    int wrong_ = 0;
};

/// Whole numbers from -most to most, others for each salt, as every rank makes them.
at::Tensor numbers(at::IntArrayRef shape, std::int64_t salt, std::int64_t most) {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) {
        n *= size;
    }
    return at::arange(n, at::kLong)
        .add(5 * salt)
        .mul(37)
        .remainder(101)
        .remainder(2 * most + 1)
        .sub(most)
        .to(at::kFloat)
        .view(shape);
}

at::Tensor leaf(const at::Tensor& values) {
    return values.detach().clone().requires_grad_();
}

/// Rank r's part of a dimension that is cut into p.
at::Tensor part(const at::Tensor& whole, std::int64_t dim, const Communicator& comm) {
    const std::int64_t length = whole.size(dim) / comm.size();
    return whole.narrow(dim, comm.rank() * length, length);
}

std::vector<at::Tensor> micro_batches(at::IntArrayRef shape) {
    std::vector<at::Tensor> inputs;
    for (int i = 0; i < kMicroBatches; ++i) {
        inputs.push_back(numbers(shape, i, 2));
    }
    return inputs;
}

// A pipeline alone: two layers for each rank, on one stage or on two.

constexpr int kLayersOfRank = 2;
constexpr std::int64_t kWidth = 4;

std::vector<at::Tensor> layers(int first, int count) {
    std::vector<at::Tensor> weights;
    for (int k = first; k < first + count; ++k) {
        weights.push_back(leaf(numbers({kWidth, kWidth}, k, 3).div(4)));
    }
    return weights;
}

at::Tensor through(const std::vector<at::Tensor>& weights, at::Tensor x) {
    for (const at::Tensor& weight : weights) {
        x = x.add(at::linear(x, weight).tanh().div(8));
    }
    return x;
}

at::Tensor loss_of(const at::Tensor& y, int i) {
    return y.mul(numbers(y.sizes(), i, 3)).sum();
}

/// Weights with their gradients, and losses.
struct Trained {
    std::vector<at::Tensor> weights;
    std::vector<at::Tensor> losses;
};

Trained train_alone(const std::vector<at::Tensor>& inputs, int p) {
    Trained trained = {layers(0, kLayersOfRank * p), {}};
    for (int i = 0; i < kMicroBatches; ++i) {
        const at::Tensor loss =
            loss_of(through(trained.weights, inputs[static_cast<std::size_t>(i)]), i);
        loss.div(kMicroBatches).backward();
        trained.losses.push_back(loss.detach());
    }
    return trained;
}

/// v stages a rank. Bit for bit, as each sum has one order.
void check_pipeline(
    const std::string& name,
    ScheduleKind kind,
    int v,
    const Trained& alone,
    const std::vector<at::Tensor>& inputs,
    const Communicator& comm,
    Checks& checks
) {
    const int p = comm.size();
    const int count = kLayersOfRank / v;
    std::vector<PipelineStage> stages;
    std::vector<std::pair<std::size_t, std::vector<at::Tensor>>> mine;
    for (int number = comm.rank(); number < p * v; number += p) {
        const std::vector<at::Tensor> weights = layers(number * count, count);
        mine.emplace_back(number * count, weights);
        stages.push_back(
            {number, [weights](const at::Tensor& x) { return through(weights, x); }, {3, kWidth}}
        );
    }
    const Schedule rows = insert_messages(pipeline_schedule(kind, p, kMicroBatches, v));
    const std::vector<at::Tensor> losses = run_pipeline(rows, stages, inputs, &loss_of, comm);
    for (std::size_t i = 0; i < losses.size(); ++i) {
        checks.same(name + ": loss " + std::to_string(i), losses[i], alone.losses[i]);
    }
    for (const auto& [first, weights] : mine) {
        for (std::size_t k = 0; k < weights.size(); ++k) {
            checks.same(
                name + ": the gradient of layer " + std::to_string(first + k), weights[k].grad(),
                alone.weights[first + k].grad()
            );
        }
    }
}

void check_pipelines(const Communicator& comm, Checks& checks) {
    using enum ScheduleKind;
    const std::vector<at::Tensor> inputs = micro_batches({3, kWidth});
    const Trained alone = train_alone(inputs, comm.size());
    check_pipeline("gpipe", gpipe, 1, alone, inputs, comm, checks);
    check_pipeline("1f1b", one_forward_one_backward, 1, alone, inputs, comm, checks);
    check_pipeline("interleaved", interleaved, kLayersOfRank, alone, inputs, comm, checks);
    check_pipeline("zero bubble", zero_bubble, 1, alone, inputs, comm, checks);
}

// A tensor group alone.

struct Mlp {
    at::Tensor w0, b0, w1, b1;

    [[nodiscard]] at::Tensor forward(const at::Tensor& x) const {
        return at::linear(at::linear(x, w0, b0).abs(), w1, b1);
    }
};

/// An activation that no unit is dead with.
at::Tensor absolute(const at::Tensor& h) {
    return h.abs();
}

/// The gradients of the layers are this rank's parts.
void check_gradients(
    const std::string& name,
    const ColumnParallelLinear& column,
    const RowParallelLinear& row,
    const Mlp& whole,
    const Communicator& comm,
    Checks& checks
) {
    checks.same(name + ": column.weight", column.weight.grad(), part(whole.w0.grad(), 0, comm));
    checks.same(name + ": column.bias", column.bias.grad(), part(whole.b0.grad(), 0, comm));
    checks.same(name + ": row.weight", row.weight.grad(), part(whole.w1.grad(), 1, comm));
    checks.same(name + ": row.bias", row.bias.grad(), whole.b1.grad());
}

void check_mlp(const Communicator& comm, Checks& checks) {
    const std::int64_t hidden = 2 * comm.size();
    const Mlp whole = {
        leaf(numbers({hidden, 5}, 1, 3)), leaf(numbers({hidden}, 2, 3)),
        leaf(numbers({7, hidden}, 3, 3)), leaf(numbers({7}, 4, 3))};
    const at::Tensor x = leaf(numbers({3, 5}, 5, 3));
    const at::Tensor expected = whole.forward(x);
    loss_of(expected, 1).backward();
    const ColumnParallelLinear column(whole.w0, whole.b0, comm);
    const RowParallelLinear row(whole.w1, whole.b1, comm);
    const at::Tensor same_x = leaf(x);
    const at::Tensor y = tensor_parallel_mlp(same_x, column, row, &absolute);
    loss_of(y, 1).backward();
    checks.same("mlp: the output", y, expected);
    checks.same("mlp: the gradient of x", same_x.grad(), x.grad());
    check_gradients("mlp", column, row, whole, comm, checks);
}

void check_vocabulary(const Communicator& comm, Checks& checks) {
    const std::int64_t words = 2 * comm.size();
    const at::Tensor ids = at::arange(words, at::kLong).mul(31).add(3).remainder(words);
    const at::Tensor table = leaf(numbers({words, 3}, 6, 3));
    const at::Tensor shard = leaf(part(table, 0, comm));
    const at::Tensor rows = at::embedding(table, ids);
    const at::Tensor same_rows = vocab_parallel_embedding(ids, shard, comm);
    loss_of(rows, 2).backward();
    loss_of(same_rows, 2).backward();
    checks.same("embedding: the rows", same_rows, rows);
    checks.same("embedding: the gradient", shard.grad(), part(table.grad(), 0, comm));

    // exp, a sum over all words, a division and log: each rounds
    constexpr double kTolerance = 1e-5;
    const at::Tensor logits = leaf(numbers({words, words}, 7, 8));
    const at::Tensor own = leaf(part(logits, 1, comm));
    const at::Tensor losses = at::cross_entropy_loss(logits, ids, {}, at::Reduction::None);
    const at::Tensor same_losses = vocab_parallel_cross_entropy(own, ids, comm);
    loss_of(losses, 3).backward();
    loss_of(same_losses, 3).backward();
    checks.same("cross entropy: the losses", same_losses, losses, kTolerance);
    checks.same(
        "cross entropy: the gradient", own.grad(), part(logits.grad(), 1, comm), kTolerance
    );
}

// Eight stages, each on eight tensor ranks.

/// Two numbers in each row of w0 and of w1, so that eight of these one behind the other are exact.
Mlp stage_mlp(std::int64_t stage) {
    constexpr std::int64_t kHidden = 2 * kWidth * 2;
    at::Tensor w0 = at::zeros({kHidden, 2 * kWidth});
    at::Tensor w1 = at::zeros({2 * kWidth, kHidden});
    for (std::int64_t i = 0; i < kHidden; ++i) {
        w0[i][i % w0.size(1)] = 1;
        w0[i][(i + 3 + stage) % w0.size(1)] = -1;
    }
    for (std::int64_t i = 0; i < w1.size(0); ++i) {
        w1[i][i] = 1;
        w1[i][(i + 9 + stage) % kHidden] = -1;
    }
    return {
        leaf(w0), leaf(numbers({kHidden}, stage, 3)), leaf(w1),
        leaf(numbers({2 * kWidth}, stage + 1, 3))};
}

void check_mesh(const Communicator& comm, Checks& checks) {
    const DeviceMesh mesh({{"tp", 8}, {"pp", 8}}, "tp-pp", comm);
    const Communicator& tp = mesh.group("tp");
    const Communicator& pp = mesh.group("pp");
    const std::vector<at::Tensor> inputs = micro_batches({2, 2 * kWidth});
    std::vector<Mlp> whole;
    for (int stage = 0; stage < pp.size(); ++stage) {
        whole.push_back(stage_mlp(stage));
    }
    std::vector<at::Tensor> losses;
    for (int i = 0; i < kMicroBatches; ++i) {
        at::Tensor x = inputs[static_cast<std::size_t>(i)];
        for (const Mlp& mlp : whole) {
            x = mlp.forward(x);
        }
        losses.push_back(loss_of(x, i));
        losses.back().div(kMicroBatches).backward();
    }

    const Mlp& mine = whole[static_cast<std::size_t>(pp.rank())];
    const ColumnParallelLinear column(mine.w0, mine.b0, tp);
    const RowParallelLinear row(mine.w1, mine.b1, tp);
    const PipelineStage stage = {
        pp.rank(),
        [&](const at::Tensor& x) { return tensor_parallel_mlp(x, column, row, &absolute); },
        {2, 2 * kWidth}};
    const Schedule rows = insert_messages(
        pipeline_schedule(ScheduleKind::one_forward_one_backward, pp.size(), kMicroBatches)
    );
    const std::vector<at::Tensor> got = run_pipeline(rows, {stage}, inputs, &loss_of, pp);
    for (std::size_t i = 0; i < got.size(); ++i) {
        checks.same("mesh: loss " + std::to_string(i), got[i], losses[i].detach());
    }
    check_gradients("mesh", column, row, mine, tp, checks);
}

}  // namespace
}  // namespace dist

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, [](const dist::Communicator& comm) {
        at::set_num_threads(1);
        dist::Checks checks(comm);
        dist::check_pipelines(comm, checks);
        dist::check_mlp(comm, checks);
        dist::check_vocabulary(comm, checks);
        dist::check_mesh(comm, checks);
        return checks.wrong() == 0 ? 0 : 1;
    });
}
