#include "course/lab/mesh/mesh_formulas.hpp"

#include <ATen/ops/empty.h>
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "course/nn/bucket_limits.hpp"
#include "course/parallel/schedules.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/06_ddp/gradient_buckets.hpp"
#include "exercises/07_zero/memory_model.hpp"
#include "exercises/08_model_parallel/pipeline_schedule.hpp"

namespace dist::lab {
namespace {

constexpr std::size_t kFloat = 4;  // bytes

std::size_t sum_of(const std::vector<std::size_t>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), std::size_t{0});
}

/// Floats that rank r of p sends of n, each time: all chunks but one.
struct Ring {
    int p = 1;
    int r = 0;

    [[nodiscard]] std::size_t reduce_scatter(std::size_t n) const {
        return n - chunk_bounds(n, p, r).size();
    }
    [[nodiscard]] std::size_t all_gather(std::size_t n) const {
        return n - chunk_bounds(n, p, (r + 1) % p).size();
    }
    [[nodiscard]] std::size_t all_reduce(std::size_t n) const {
        return reduce_scatter(n) + all_gather(n);
    }
};

/// One stage, as one rank has it, and a micro-batch in it.
class StageFormula {
  public:
    StageFormula(const trainer::Options& options, const MeshPlace& place, int number)
        : options_(options),
          t_(static_cast<std::size_t>(options.mesh.tp)),
          w_(static_cast<std::size_t>(options.gpt.width)),
          tp_{options.mesh.tp, place.tp},
          same_parameters_{
              options.mesh.dp * options.mesh.cp, place.dp * options.mesh.cp + place.cp},
          is_first_(number == 0) {
        const int stages = options.mesh.pp * options.chunks;
        is_last_ = number + 1 == stages;
        blocks_ = static_cast<std::size_t>(options.gpt.layers / stages);
        m_ = static_cast<std::size_t>(options.micro_batches);
        tokens_ = options.batch / m_ * static_cast<std::size_t>(options.gpt.context) /
                  static_cast<std::size_t>(options.mesh.cp);
    }

    // floats that are sent in a step
    [[nodiscard]] std::size_t sent_over_dp() const;
    [[nodiscard]] std::size_t sent_over_pp() const;
    [[nodiscard]] std::size_t sent_over_cp() const;
    [[nodiscard]] std::size_t sent_over_tp() const;

    /// Bytes of parameters, gradients and the optimizer.
    [[nodiscard]] ModelStates states() const;

    /// Bytes that autograd keeps of a micro-batch, from its forward to its backward.
    [[nodiscard]] std::size_t kept() const;

  private:
    /// Numbers in each parameter, by the model's parts.
    [[nodiscard]] std::vector<std::vector<std::size_t>> parts() const;

    /// Lengths of the rows that --zero cuts into shards; without it, of all that is averaged at once.
    [[nodiscard]] std::vector<std::size_t> rows() const;

    /// Floats of an activation between two layers, as a rank of tp has it.
    [[nodiscard]] std::size_t between_layers() const {
        return tokens_ * w_ / (options_.sequence_parallel ? t_ : 1);
    }

    const trainer::Options& options_;
    std::size_t t_;
    std::size_t w_;
    Ring tp_;
    Ring same_parameters_;
    bool is_first_;
    bool is_last_ = false;
    std::size_t blocks_ = 0;
    std::size_t m_ = 1;
    std::size_t tokens_ = 0;  // of a micro-batch, on a rank of cp
};

std::vector<std::vector<std::size_t>> StageFormula::parts() const {
    const auto words = static_cast<std::size_t>(options_.gpt.vocabulary);
    const auto context = static_cast<std::size_t>(options_.gpt.context);
    const std::size_t cut = w_ / t_;
    std::vector<std::vector<std::size_t>> all;
    if (is_first_) {
        all.push_back({words / t_ * w_, context * w_});
    }
    const std::vector<std::size_t> norm = {w_, w_};
    const std::vector<std::size_t> attention = {3 * cut * w_, 3 * cut, w_ * cut, w_};
    const std::vector<std::size_t> mlp = {4 * cut * w_, 4 * cut, w_ * 4 * cut, w_};
    std::vector<std::size_t> block;
    for (const auto* const layer : {&norm, &attention, &norm, &mlp}) {
        block.insert(block.end(), layer->begin(), layer->end());
    }
    all.insert(all.end(), blocks_, block);
    if (is_last_) {
        all.push_back({w_, w_, words / t_ * w_});
    }
    return all;
}

std::vector<std::size_t> StageFormula::rows() const {
    std::vector<std::size_t> parameters;
    std::vector<std::size_t> of_parts;
    for (const std::vector<std::size_t>& part : parts()) {
        parameters.insert(parameters.end(), part.begin(), part.end());
        of_parts.push_back(sum_of(part));
    }
    if (options_.zero == 3) {
        return of_parts;
    }
    if (options_.zero < 2) {
        return {sum_of(parameters)};
    }
    std::vector<at::Tensor> tensors;
    for (const std::size_t n : parameters) {
        tensors.push_back(at::empty({static_cast<std::int64_t>(n)}));
    }
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.rbegin(), order.rend(), 0);
    std::vector<std::size_t> of_buckets;
    for (const Bucket& bucket :
         gradient_buckets(tensors, order, nn::bucket_limits(options_.bucket_cap_mb))) {
        of_buckets.push_back(0);
        for (const std::size_t i : bucket) {
            of_buckets.back() += parameters[i];
        }
    }
    return of_buckets;
}

std::size_t StageFormula::sent_over_dp() const {
    const auto p = static_cast<std::size_t>(same_parameters_.p);
    std::size_t sent = 0;
    for (const std::size_t n : rows()) {
        const std::size_t row = (n + p - 1) / p * p;
        const std::size_t scattered = same_parameters_.reduce_scatter(row);
        const std::size_t gathered = same_parameters_.all_gather(row);
        switch (options_.zero) {
            case 0:
                sent += same_parameters_.all_reduce(n);
                break;
            case 1:
                sent += scattered + gathered;
                break;
            case 2:  // each backward adds up, the step gathers
                sent += m_ * scattered + gathered;
                break;
            default:  // weights for forward, weights for backward
                sent += m_ * (2 * gathered + scattered);
        }
    }
    return sent;
}

std::size_t StageFormula::sent_over_pp() const {
    const std::size_t neighbours = (is_first_ ? 0 : 1) + (is_last_ ? 0 : 1);
    return options_.mesh.pp > 1 ? m_ * neighbours * between_layers() : 0;
}

std::size_t StageFormula::sent_over_cp() const {
    const auto c = static_cast<std::size_t>(options_.mesh.cp);
    const std::size_t keys_and_values = 2 * tokens_ * w_ / t_;
    return c > 1 ? m_ * blocks_ * (3 * c - 2) * keys_and_values : 0;
}

std::size_t StageFormula::sent_over_tp() const {
    const std::size_t x = tokens_ * w_;  // of all tokens
    const std::size_t first = is_first_ ? 1 : 0;
    const std::size_t last = is_last_ ? 1 : 0;
    // the largest score, the target's and the sum for the loss; two for the accuracy
    const std::size_t loss = last * (3 * tp_.all_reduce(tokens_) + tp_.all_reduce(2 * tokens_));
    if (!options_.sequence_parallel) {
        // a block: attention and MLP, forward and backward; the table forward, the head backward
        return m_ * ((4 * blocks_ + first + last) * tp_.all_reduce(x) + loss);
    }
    const std::size_t gathers = 6 * blocks_ + first + 2 * last;
    const std::size_t scatters = 4 * blocks_ + last;
    const std::size_t own_tokens = 6 * w_ * blocks_ + last * 2 * w_;  // norms and biases
    return m_ * (gathers * tp_.all_gather(x) + scatters * tp_.reduce_scatter(x) +
                 first * tp_.all_reduce(x) + loss) +
           tp_.all_reduce(own_tokens);
}

ModelStates StageFormula::states() const {
    constexpr std::array kStages = {
        ZeroStage::none, ZeroStage::optimizer, ZeroStage::gradients, ZeroStage::parameters};
    const ZeroStage stage = kStages.at(static_cast<std::size_t>(options_.zero));
    const auto kind = options_.optimizer == "sgd" ? OptimizerKind::momentum : OptimizerKind::adam;
    ModelStates all;
    for (const std::size_t n : rows()) {
        const ModelStates row = memory_model(n, same_parameters_.p, stage, Precision::fp32, kind);
        all.parameters += row.parameters;
        all.gradients += row.gradients;
        all.optimizer += row.optimizer;
    }
    return all;
}

std::size_t StageFormula::kept() const {
    const auto heads = static_cast<std::size_t>(options_.gpt.heads) / t_;
    const auto words = static_cast<std::size_t>(options_.gpt.vocabulary) / t_;
    const std::size_t whole = between_layers();
    const std::size_t cut = tokens_ * w_ / t_;
    const std::size_t norm =
        2 * tokens_ / (options_.sequence_parallel ? t_ : 1);  // mean, deviation
    constexpr std::size_t kMarkedWord = 8 + 1;  // as this rank numbers it; whether it is another's
    // Input and result of two norms; queries, keys and values, what is seen of them, with two numbers for each row,
    // and once more where heads stand side by side again; before and behind GELU, four times as wide.
    const std::size_t block =
        4 * whole + 2 * norm + (3 + 1 + (heads > 1 ? 1 : 0) + 4 + 4) * cut + 2 * tokens_ * heads;
    std::size_t bytes = kFloat * blocks_ * block;
    if (is_first_) {
        bytes += kMarkedWord * tokens_;
    }
    if (is_last_) {
        bytes += kFloat * (2 * whole + norm + tokens_ * words) + kMarkedWord * tokens_;
    }
    return bytes;
}

/// The most that is kept at once, as a rank goes through its row of the schedule.
std::size_t most_kept(const trainer::Options& options, const MeshPlace& place) {
    const Schedule rows = pipeline_schedule(
        trainer::find_schedule(options.pipeline), options.mesh.pp, options.micro_batches,
        options.chunks
    );
    std::size_t kept = 0;
    std::size_t most = 0;
    for (const auto& [stage, kind, i] : rows[static_cast<std::size_t>(place.pp)]) {
        const std::size_t bytes = StageFormula(options, place, stage).kept();
        if (kind == ActionKind::forward) {
            kept += bytes;
            most = std::max(most, kept);
        } else if (kind != ActionKind::input_gradient) {
            kept -= bytes;
        }
    }
    return most;
}

}  // namespace

MeshBytes mesh_formula(const trainer::Options& options, const MeshPlace& place) {
    std::size_t dp = 0;
    std::size_t pp = 0;
    std::size_t cp = 0;
    std::size_t tp = 0;
    ModelStates states;
    for (int chunk = 0; chunk < options.chunks; ++chunk) {
        const StageFormula stage(options, place, chunk * options.mesh.pp + place.pp);
        dp += kFloat * stage.sent_over_dp();
        pp += kFloat * stage.sent_over_pp();
        cp += kFloat * stage.sent_over_cp();
        tp += kFloat * stage.sent_over_tp();
        const auto [parameters, gradients, optimizer] = stage.states();
        states.parameters += parameters;
        states.gradients += gradients;
        states.optimizer += optimizer;
    }
    constexpr std::size_t kWord = 8;
    const std::size_t words = options.batch * static_cast<std::size_t>(options.gpt.context) /
                              static_cast<std::size_t>(options.mesh.cp);
    const bool is_last = place.pp + 1 == options.mesh.pp;
    const std::size_t losses =
        is_last ? kFloat * static_cast<std::size_t>(options.micro_batches) : 0;
    return {
        dp,
        pp,
        cp,
        tp,
        states.parameters,
        states.gradients,
        states.optimizer,
        most_kept(options, place) + 2 * kWord * words + losses};
}

}  // namespace dist::lab
