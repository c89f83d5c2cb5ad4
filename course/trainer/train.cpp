#include "course/trainer/train.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include <torch/utils.h>

#include "course/data/sampler.hpp"
#include "course/nn/model.hpp"
#include "course/runtime/clock.hpp"
#include "course/trainer/autocast.hpp"
#include "course/trainer/batch.hpp"
#include "course/trainer/checkpoint.hpp"
#include "course/trainer/parallel/strategy.hpp"
#include "course/trainer/report.hpp"
#include "course/trainer/schedule.hpp"
#include "course/trainer/together.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist::trainer {

namespace {

// This rank's share of the work, whatever the way it is shared.
class Trainer {
  public:
    Trainer(const Options& options, const data::Dataset& data, const Communicator& comm);

    void run(Report& report);

  private:
    StepRecord train_step(std::size_t epoch);
    Batch next_batch(std::size_t epoch) const;
    at::Tensor forward(const at::Tensor& pictures);
    EpochRecord test();
    void broadcast_statistics();
    void resume();
    double save();

    const Options& options_;
    const data::Dataset& data_;
    const Communicator& comm_;
    std::shared_ptr<nn::Model> model_;
    std::unique_ptr<Strategy> strategy_;
    data::DistributedSampler sampler_;
    std::size_t steps_;     // of the whole run
    std::size_t step_ = 0;  // done
};

std::shared_ptr<nn::Model> make_replica(const Options& options, int rank) {
    torch::manual_seed(options.seed + static_cast<std::uint64_t>(rank));
    return nn::make_model(options.model);
}

std::size_t count_correct(const at::Tensor& logits, const at::Tensor& labels) {
    return static_cast<std::size_t>(logits.argmax(1).eq(labels).sum().item<std::int64_t>());
}

Trainer::Trainer(const Options& options, const data::Dataset& data, const Communicator& comm)
    : options_(options),
      data_(data),
      comm_(comm),
      model_(make_replica(options, comm.rank())),
      strategy_(make_strategy(options, model_, comm)),
      sampler_(data.train.size(), comm.rank(), comm.size(), options.batch, options.seed),
      steps_(options.steps.value_or(options.epochs * sampler_.steps())) {
    broadcast_statistics();
    together(comm_, [this] { resume(); });
}

StepRecord Trainer::train_step(std::size_t epoch) {
    StepRecord record{.step = step_ + 1, .epoch = epoch + 1};
    record.rate = learning_rate(options_.rate, step_, steps_);
    const Stopwatch step;
    Stopwatch watch;
    const Batch batch = next_batch(epoch);
    record.data_s = watch.lap_s();

    strategy_->zero_gradients();
    const at::Tensor logits = forward(batch.pictures);
    const at::Tensor loss = at::cross_entropy_loss(logits, batch.labels);
    record.forward_s = watch.lap_s();
    loss.backward();
    record.backward_s = watch.lap_s();
    strategy_->exchange_gradients();
    record.communication_s = watch.lap_s();
    strategy_->step(record.rate);
    record.optimizer_s = watch.lap_s();
    ++step_;

    // (loss, accuracy) of this rank's batch, then of all
    const auto correct = static_cast<float>(count_correct(logits, batch.labels));
    std::array mean = {loss.item<float>(), correct / static_cast<float>(options_.batch)};
    ring_all_reduce(mean, ReduceOp::mean, comm_);
    const std::size_t images = options_.batch * static_cast<std::size_t>(comm_.size());
    record.loss = mean[0];
    record.accuracy = mean[1];
    record.images = step_ * images;
    record.images_per_s = static_cast<double>(images) / step.elapsed_s();
    return record;
}

Batch Trainer::next_batch(std::size_t epoch) const {
    const auto view = [&](std::size_t picture) {
        return data::random_view(options_.seed, epoch, picture);
    };
    return make_batch(data_.train, sampler_.batch(step_ % sampler_.steps()), view);
}

// (B, 3, 32, 32) -> (B, 10) float32, in bfloat16 on the way if asked for
at::Tensor Trainer::forward(const at::Tensor& pictures) {
    const Autocast autocast(options_.dtype == "bf16");
    return strategy_->forward(pictures).to(at::kFloat);
}

void Trainer::run(Report& report) {
    const std::size_t epoch_steps = sampler_.steps();
    const std::size_t stop = std::min(steps_, options_.stop_after.value_or(steps_));
    report.begin_run(step_, steps_, epoch_steps);
    while (step_ < stop) {
        const std::size_t epoch = step_ / epoch_steps;
        const std::size_t last = std::min(steps_, (epoch + 1) * epoch_steps);
        model_->train();
        sampler_.set_epoch(epoch);
        report.begin_epoch(epoch);
        while (step_ < std::min(stop, last)) {
            report.end_step(train_step(epoch));
        }
        strategy_->expect_equal(step_);
        if (step_ == last) {
            report.end_epoch(test());
        }
        report.end_save(save());
    }
    report.end_run(step_);
}

// Every rank tests every p-th picture; what they got right is added up.
EpochRecord Trainer::test() {
    const Stopwatch watch;
    const torch::NoGradGuard no_grad;
    broadcast_statistics();
    model_->eval();
    std::vector<std::size_t> share;
    for (auto i = static_cast<std::size_t>(comm_.rank()); i < data_.test.size();) {
        share.push_back(i);
        i += static_cast<std::size_t>(comm_.size());
    }
    std::size_t correct = 0;
    for (std::size_t begin = 0; begin < share.size(); begin += options_.batch) {
        const auto part =
            std::span(share).subspan(begin, std::min(options_.batch, share.size() - begin));
        const Batch batch = make_batch(data_.test, part, [](std::size_t) { return data::View{}; });
        correct += count_correct(forward(batch.pictures), batch.labels);
    }
    std::array total = {static_cast<float>(correct)};  // exact: fewer than 2^24
    ring_all_reduce(total, ReduceOp::sum, comm_);
    const std::size_t n = data_.test.size();
    EpochRecord record{.step = step_, .test_images = n};
    record.test_accuracy = total[0] / static_cast<double>(n);
    record.evaluation_s = watch.elapsed_s();
    return record;
}

// The statistics of batch normalisations differ between ranks, as each saw its own pictures. As in
// DistributedDataParallel, rank 0's count.
void Trainer::broadcast_statistics() {
    std::vector<at::Tensor> buffers = model_->buffers();
    std::erase_if(buffers, [](const at::Tensor& buffer) { return !buffer.is_floating_point(); });
    broadcast_parameters(buffers, 0, comm_);
}

void Trainer::resume() {
    if (options_.resume) {
        const std::string run = describe_run(options_, data_.train.size(), comm_.size());
        step_ = load_checkpoint(options_.checkpoint, run, [this](auto& archive) {
            strategy_->load(archive);
        });
    } else if (!options_.checkpoint.empty() && exists(checkpoint_file(options_.checkpoint))) {
        throw std::runtime_error(
            checkpoint_file(options_.checkpoint).string() +
            ": is there already; go on from it with --resume, or give another folder"
        );
    }
    if (!options_.checkpoint.empty() && comm_.rank() == 0) {
        expect_writable(options_.checkpoint);  // better known now than after the first epoch
    }
}

// Returns the seconds that it took.
double Trainer::save() {
    const Stopwatch watch;
    if (options_.checkpoint.empty()) {
        return 0;
    }
    constexpr int kWentWrong = 1;
    const auto write = [this] {
        torch::serialize::OutputArchive archive;
        strategy_->save(archive);
        if (comm_.rank() == 0) {
            const std::string run = describe_run(options_, data_.train.size(), comm_.size());
            save_checkpoint(options_.checkpoint, run, step_, archive);
        }
    };
    together(comm_, write, kWentWrong);
    return watch.elapsed_s();
}

}  // namespace

void train(const Options& options, const Communicator& comm) {
    if (std::getenv("OMP_NUM_THREADS") == nullptr) {
        at::set_num_threads(1);  // the ranks are the threads
    }
    data::Dataset data;
    together(comm, [&] {
        data =
            data::load_dataset(options.data, options.train_size, options.test_size, options.seed);
    });
    Report report(options, data, comm);
    Trainer trainer(options, data, comm);
    trainer.run(report);
}

}  // namespace dist::trainer
