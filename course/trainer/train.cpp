#include "course/trainer/train.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include <mpi.h>

#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include "course/data/sampler.hpp"
#include "course/nn/model.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"
#include "course/trainer/autocast.hpp"
#include "course/trainer/batch.hpp"
#include "course/trainer/checkpoint.hpp"
#include "course/trainer/report.hpp"
#include "course/trainer/schedule.hpp"
#include "course/trainer/stop.hpp"
#include "course/trainer/together.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/average_gradients.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist::trainer {

namespace {

// This rank's replica of the model, and its share of the work.
class Trainer {
  public:
    Trainer(const Options& options, const data::Dataset& data, const Communicator& comm);

    void run(Report& report);

  private:
    StepRecord train_step(std::size_t epoch);
    EpochRecord test();
    at::Tensor forward(const at::Tensor& pictures);
    void broadcast_statistics();
    void resume();
    void save();
    void expect_equal_replicas() const;

    const Options& options_;
    const data::Dataset& data_;
    const Communicator& comm_;
    std::shared_ptr<nn::Model> model_;
    std::vector<at::Tensor> parameters_;
    torch::optim::SGD optimizer_;
    data::DistributedSampler sampler_;
    std::size_t steps_;     // of the whole run
    std::size_t step_ = 0;  // done
};

std::string short_text(double number) {
    std::ostringstream text;
    text << number;
    return text.str();
}

// What two runs must have in common for one to go on where the other stopped.
std::string describe_run(const Options& options, const data::Dataset& data, int ranks) {
    return "model " + options.model + ", seed " + std::to_string(options.seed) + ", " +
           std::to_string(data.train.size()) + " pictures, " +
           std::to_string(options.batch * static_cast<std::size_t>(ranks)) + " of them a step, " +
           options.dtype + ", rate " + short_text(options.rate) + ", momentum " +
           short_text(options.momentum) + ", weight decay " + short_text(options.weight_decay);
}

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
      parameters_(model_->parameters()),
      optimizer_(
          parameters_,
          torch::optim::SGDOptions(options.rate)
              .momentum(options.momentum)
              .weight_decay(options.weight_decay)
              .nesterov(options.momentum > 0)
      ),
      sampler_(data.train.size(), comm.rank(), comm.size(), options.batch, options.seed),
      steps_(options.steps.value_or(options.epochs * sampler_.steps())) {
    // every replica was made with weights of its own; from here on they are rank 0's
    broadcast_parameters(parameters_, 0, comm_);
    broadcast_statistics();
    together(comm_, [this] { resume(); });
}

StepRecord Trainer::train_step(std::size_t epoch) {
    Stopwatch step;
    StepRecord record{.step = step_ + 1, .epoch = epoch + 1};
    record.rate = learning_rate(options_.rate, step_, steps_);
    static_cast<torch::optim::SGDOptions&>(optimizer_.param_groups()[0].options()).lr(record.rate);
    const auto view = [&](std::size_t picture) {
        return data::random_view(options_.seed, epoch, picture);
    };
    const Batch batch = make_batch(data_.train, sampler_.batch(step_ % sampler_.steps()), view);

    Stopwatch watch;
    // not zeroed in place: average_gradients may have left a view, which cannot be
    for (at::Tensor& parameter : parameters_) {
        parameter.mutable_grad().reset();
    }
    const at::Tensor logits = forward(batch.pictures);
    const at::Tensor loss = at::cross_entropy_loss(logits, batch.labels);
    record.forward_s = watch.lap_s();
    loss.backward();
    record.backward_s = watch.lap_s();
    average_gradients(parameters_, comm_);
    record.communication_s = watch.lap_s();
    optimizer_.step();
    record.optimizer_s = watch.lap_s();

    // (loss, accuracy) of this rank's batch, then of all
    const auto correct = static_cast<float>(count_correct(logits, batch.labels));
    std::array mean = {loss.item<float>(), correct / static_cast<float>(options_.batch)};
    ring_all_reduce(mean, ReduceOp::mean, comm_);
    const std::size_t images = options_.batch * static_cast<std::size_t>(comm_.size());
    ++step_;
    record.loss = mean[0];
    record.accuracy = mean[1];
    record.images = step_ * images;
    record.images_per_s = static_cast<double>(images) / step.elapsed_s();
    return record;
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
        expect_equal_replicas();
        if (step_ == last) {
            report.end_epoch(test());
        }
        save();
    }
    report.end_run(step_);
}

// Every rank tests every p-th picture; what they got right is added up.
EpochRecord Trainer::test() {
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
    return {.step = step_, .test_accuracy = total[0] / static_cast<double>(n), .test_images = n};
}

// (B, 3, 32, 32) -> (B, 10) float32, in bfloat16 on the way if asked for
at::Tensor Trainer::forward(const at::Tensor& pictures) {
    const Autocast autocast(options_.dtype == "bf16");
    return model_->forward(pictures).to(at::kFloat);
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
        const std::string run = describe_run(options_, data_, comm_.size());
        step_ = load_checkpoint(options_.checkpoint, run, *model_, optimizer_);
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

// Equal weights and equal gradients make equal weights, to the last bit: or the gradients were not.
void Trainer::expect_equal_replicas() const {
    std::uint64_t mine = 0;
    for (const at::Tensor& parameter : parameters_) {
        const at::Tensor data = parameter.detach().contiguous();
        const std::string_view bytes(static_cast<const char*>(data.data_ptr()), data.nbytes());
        mine = seeded_bits(mine, std::hash<std::string_view>()(bytes));
    }
    std::vector<std::uint64_t> all(static_cast<std::size_t>(comm_.size()));
    MPI_CHECK(MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm_.handle()));
    const auto other =
        std::ranges::find_if(all, [&](std::uint64_t bits) { return bits != all[0]; });
    if (other != all.end()) {
        constexpr int kWentWrong = 1;
        throw Stop(
            "after step " + std::to_string(step_) + " rank " + std::to_string(other - all.begin()) +
                " has other weights than rank 0: average_gradients, or what it stands on, did not "
                "give all ranks the same",
            kWentWrong
        );
    }
}

void Trainer::save() {
    if (options_.checkpoint.empty()) {
        return;
    }
    constexpr int kWentWrong = 1;
    const auto write = [this] {
        if (comm_.rank() == 0) {
            const std::string run = describe_run(options_, data_, comm_.size());
            save_checkpoint(options_.checkpoint, run, step_, *model_, optimizer_);
        }
    };
    together(comm_, write, kWentWrong);
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
