#include "course/trainer/examples.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "exercises/05_data_parallel/distributed_sampler.hpp"
#include "exercises/10_elastic/elastic_sampler.hpp"

namespace dist::trainer {

namespace {

/// --batch: as many for each rank.
class EqualBatches final : public Examples {
  public:
    EqualBatches(const Options& options, std::size_t n, int rank, int ranks)
        : batch_(options.batch),
          ranks_(static_cast<std::size_t>(ranks)),
          sampler_(
              n,
              rank,
              ranks,
              {.seed = options.seed,
               .drop_last = options.last_batch == "drop",
               .batch = options.last_batch == "short" ? 1 : options.batch}
          ) {}

    [[nodiscard]] std::size_t epoch_steps() const override {
        return (sampler_.size() + batch_ - 1) / batch_;
    }

    [[nodiscard]] std::size_t seen_after(std::size_t steps) const override {
        const std::size_t begun = std::min(steps % epoch_steps() * batch_, sampler_.size());
        return (steps / epoch_steps() * sampler_.size() + begun) * ranks_;
    }

    [[nodiscard]] StepExamples of_step(std::size_t step) override {
        const std::size_t epoch = step / epoch_steps();
        if (order_epoch_ != epoch) {
            sampler_.set_epoch(epoch);
            order_ = sampler_.indices();
            order_epoch_ = epoch;
        }
        const std::size_t begin = step % epoch_steps() * batch_;
        const std::size_t size = std::min(batch_, order_.size() - begin);
        return {.numbers = std::span(order_).subspan(begin, size)};
    }

  private:
    std::size_t batch_;
    std::size_t ranks_;
    DistributedSampler sampler_;
    std::vector<std::size_t> order_;  // this rank's, of one epoch
    std::optional<std::size_t> order_epoch_;
};

/// --global-batch: the same examples in a step, however many ranks there are.
class GlobalBatches final : public Examples {
  public:
    GlobalBatches(std::size_t batch, std::uint64_t seed, std::size_t n, int rank, int ranks)
        : n_(n), batch_(batch), rank_(rank), ranks_(ranks), sampler_(n, batch, seed) {}

    [[nodiscard]] std::size_t epoch_steps() const override { return (n_ + batch_ - 1) / batch_; }

    [[nodiscard]] std::size_t seen_after(std::size_t steps) const override {
        return steps / epoch_steps() * n_ + std::min(steps % epoch_steps() * batch_, n_);
    }

    [[nodiscard]] StepExamples of_step(std::size_t step) override {
        const EpochPosition at = {
            .epoch = step / epoch_steps(), .consumed = step % epoch_steps() * batch_};
        const double weight = sampler_.share(at, rank_, ranks_).weight;
        numbers_ = sampler_.examples(at, rank_, ranks_);
        if (numbers_.empty(
            )) {  // the others wait for its gradients: it computes rank 0's, and counts for nothing
            numbers_ = sampler_.examples(at, 0, ranks_);
        }
        return {.numbers = numbers_, .weight = weight * ranks_};
    }

  private:
    std::size_t n_;
    std::size_t batch_;
    int rank_;
    int ranks_;
    ElasticSampler sampler_;
    std::vector<std::size_t> numbers_;
};

}  // namespace

std::unique_ptr<Examples> make_examples(
    const Options& options, std::size_t n, int data_rank, int data_ranks
) {
    if (options.global_batch) {
        return std::make_unique<GlobalBatches>(
            *options.global_batch, options.seed, n, data_rank, data_ranks
        );
    }
    return std::make_unique<EqualBatches>(options, n, data_rank, data_ranks);
}

}  // namespace dist::trainer
