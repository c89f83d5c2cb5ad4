// bench zero: what each stage of ZeRO holds, sends and takes in a step of training, beside DDP. Run by mpirun on
// many ranks.
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <memory>
#include <numeric>
#include <utility>

#include <torch/version.h>

#include "course/lab/machine.hpp"
#include "course/lab/outputs.hpp"
#include "course/lab/steps.hpp"
#include "course/lab/zero/zero_results.hpp"
#include "course/nn/memory.hpp"
#include "course/parallel/strategy.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/patient_calls.hpp"
#include "exercises/06_ddp/gradient_buckets.hpp"
#include "exercises/07_zero/memory_model.hpp"

namespace dist::lab {
namespace {

using nn::MemoryBytes;
using nn::MemoryKind;
using nn::MemoryScope;

const std::vector<std::string> kWays = {"ddp", "zero1", "zero2", "zero3"};

/// One way of the trainer's, with a model to itself.
class Way {
  public:
    Way(const std::string& name, const ZeroOptions& options, const Communicator& comm)
        : trace_({}, comm) {
        torch::manual_seed(1);  // the same weights for all
        model_ = nn::make_model(options.model);
        const MemoryScope scope(MemoryKind::parameters);
        for (at::Tensor& parameter : model_->parameters()) {
            parameter.set_data(parameter.detach().clone());  // and no buffer
        }
        trainer_.model = options.model;
        trainer_.optimizer = options.optimizer;
        trainer_.bucket_cap_mb = options.bucket_cap_mb;
        trainer_.parallel = trainer::find_way(name)->parallel;
        trainer_.shard_ranks = options.shard_ranks;
        strategy_ = trainer::make_strategy(trainer_, model_, trace_, comm);
    }

    /// A step of training. `done` is called after forward, and after backward.
    void step(const nn::Batch& batch, const std::function<void()>& done) {
        {
            const MemoryScope scope(MemoryKind::activations);
            strategy_->zero_gradients();
            const at::Tensor loss =
                at::cross_entropy_loss(strategy_->forward(batch.inputs), batch.labels);
            done();
            strategy_->prepare_for_backward(loss);
            loss.backward();
            strategy_->exchange_gradients();
            done();
        }
        const MemoryScope scope(MemoryKind::optimizer);
        constexpr double kRate = 1e-3;
        strategy_->step(kRate);
    }

    [[nodiscard]] const nn::Model& model() const { return *model_; }

  private:
    trainer::ParallelOptions trainer_;
    trainer::Trace trace_;
    std::shared_ptr<nn::Model> model_;
    std::unique_ptr<trainer::Strategy> strategy_;
};

/// What memory_model says of this way.
std::size_t formula(
    const std::string& name, const nn::Model& model, const ZeroOptions& options, int p
) {
    const std::vector<at::Tensor> parameters = model.parameters();
    std::vector<std::size_t> all(parameters.size());
    std::iota(all.rbegin(), all.rend(), 0);
    std::vector<Bucket> rows = {all};
    ZeroStage stage = name == "ddp" ? ZeroStage::none : ZeroStage::optimizer;
    if (name == "zero2") {
        stage = ZeroStage::gradients;
        rows = gradient_buckets(parameters, all, nn::bucket_limits(options.bucket_cap_mb));
    } else if (name == "zero3") {
        stage = ZeroStage::parameters;
        p = options.shard_ranks == 0 ? p : options.shard_ranks;
        rows.clear();
        std::size_t next = 0;
        for (const nn::Part& part : model.parts()) {
            rows.emplace_back(part.parameters.size());
            std::iota(rows.back().begin(), rows.back().end(), next);
            next += part.parameters.size();
        }
    }
    const auto kind = options.optimizer == "sgd" ? OptimizerKind::momentum : OptimizerKind::adam;
    std::size_t bytes = 0;
    for (const Bucket& row : rows) {
        std::size_t n = 0;
        for (const std::size_t i : row) {
            n += static_cast<std::size_t>(parameters[i].numel());
        }
        bytes += memory_model(n, p, stage, Precision::fp32, kind).total();
    }
    return bytes;
}

/// What there is more than before, of each kind.
MemoryBytes beyond(const MemoryBytes& now, const MemoryBytes& before) {
    MemoryBytes more;
    for (std::size_t kind = 0; kind < nn::kMemoryKinds; ++kind) {
        more.of_kind[kind] = now.of_kind[kind] - std::min(now.of_kind[kind], before.of_kind[kind]);
    }
    return more;
}

std::size_t most_of_ranks(std::size_t bytes, const Communicator& comm) {
    return static_cast<std::size_t>(slowest(static_cast<double>(bytes), comm));
}

MemoryBytes most_of_ranks(MemoryBytes bytes, const Communicator& comm) {
    for (std::size_t& kind : bytes.of_kind) {
        kind = most_of_ranks(kind, comm);
    }
    return bytes;
}

/// Bytes of one way, which is alone with them.
ZeroResult measure_memory(
    const std::string& name, const ZeroOptions& options, const Communicator& comm
) {
    const nn::Batch batch = noise(options.batch, comm.rank(), 0);
    const MemoryBytes before = nn::held_memory();
    Way way(name, options, comm);
    ZeroResult result{.name = name, .formula = formula(name, way.model(), options, comm.size())};
    constexpr int kWarmUp = 2;  // the optimizer keeps something, and plans have been made anew
    for (int i = 0; i < kWarmUp; ++i) {
        way.step(batch, [] {});
    }
    const std::size_t sent = bytes_sent();
    nn::forget_peak_memory();
    const double begin_s = now_s();
    result.timeline.push_back({0, beyond(nn::held_memory(), before)});
    nn::on_memory_change([&](const MemoryBytes& held) {
        result.timeline.push_back({now_s() - begin_s, beyond(held, before)});
    });
    int done = 0;
    way.step(batch, [&] {
        (done++ == 0 ? result.forward_end_s : result.backward_end_s) = now_s() - begin_s;
    });
    result.end_s = now_s() - begin_s;
    nn::on_memory_change({});
    result.sent = most_of_ranks(bytes_sent() - sent, comm);
    result.held = most_of_ranks(beyond(nn::held_memory(), before), comm);
    result.peak = most_of_ranks(beyond(nn::peak_memory(), before), comm);
    return result;
}

std::string measure(const ZeroOptions& options, const Communicator& comm) {
    at::set_num_threads(1);  // the ranks are the threads
    nn::count_memory();
    std::vector<ZeroResult> results;
    for (const std::string& name : options.ways) {
        show_progress(options, "memory of " + name, comm);
        results.push_back(measure_memory(name, options, comm));
    }
    std::vector<std::unique_ptr<Way>> ways;
    for (const std::string& name : options.ways) {
        ways.push_back(std::make_unique<Way>(name, options, comm));
    }
    const std::vector<Block> blocks = time_steps(
        ways.size(), options,
        [&](std::size_t i, const nn::Batch& batch) { ways[i]->step(batch, [] {}); }, [] {}, comm
    );
    if (!options.svg.empty() && comm.rank() == 0) {
        plots::draw(options.svg, gnuplot_script(options, results, comm.size()));
    }
    return to_text(options, results, blocks, comm.size(), TORCH_VERSION);
}

int run(int argc, char** argv, const Communicator& comm) {
    return run_bench("bench zero", comm, [&](std::string& to) {
        std::string help;
        ZeroOptions options = parse_zero_options(argc, argv, kWays, help);
        options.shares_cores = describe_machine(comm).oversubscribed();
        to = options.to;
        if (!help.empty()) {
            return help;
        }
        if (options.shard_ranks > 0 && comm.size() % options.shard_ranks != 0) {
            throw UsageError(
                "--shard-ranks " + std::to_string(options.shard_ranks) + " does not divide " +
                std::to_string(comm.size()) + " ranks"
            );
        }
        check_outputs({}, options.svg, comm);
        return measure(options, comm);
    });
}

}  // namespace
}  // namespace dist::lab

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, [&](const dist::Communicator& comm) {
        return dist::lab::run(argc, argv, comm);
    });
}
