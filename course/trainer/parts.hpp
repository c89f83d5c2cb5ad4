// What the loop of exercise resnet_trainer calls, for pictures and any way of --parallel.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "course/data/cifar10.hpp"
#include "course/nn/model.hpp"
#include "course/runtime/clock.hpp"
#include "course/trainer/accumulation.hpp"
#include "course/trainer/options.hpp"
#include "course/trainer/parallel/strategy.hpp"
#include "course/trainer/report.hpp"
#include "course/trainer/trace.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/05_data_parallel/distributed_sampler.hpp"
#include "exercises/05_data_parallel/resnet_trainer.hpp"

namespace dist::trainer {

class Parts final : public TrainingParts {
  public:
    /// Rank 0's weights on every rank, or a checkpoint's.
    ///
    /// comm    collective, as all calls are but step(), steps() and epoch_steps().
    ///
    /// Errors  Stop, on every rank, if the run cannot go on from its checkpoint.
    Parts(
        const Options& options,
        const data::Dataset& data,
        Report& report,
        Trace& trace,
        const Communicator& comm
    );

    /// Of the whole run, which may stop before (--stop-after).
    [[nodiscard]] std::size_t all_steps() const { return all_steps_; }

    [[nodiscard]] std::size_t step() const override { return step_; }

    /// Not between two steps that add their gradients up: a checkpoint has none.
    [[nodiscard]] std::size_t steps() const override;
    [[nodiscard]] std::size_t epoch_steps() const override;
    void set_epoch(std::size_t epoch) override;
    void train(bool on) override;
    nn::Batch next_batch() override;
    void zero_gradients() override;
    at::Tensor forward(const at::Tensor& pictures) override;
    at::Tensor loss(const at::Tensor& scores, const at::Tensor& labels) override;
    void exchange_gradients() override;
    void optimizer_step() override;
    void end_step(const at::Tensor& loss) override;

    /// After a step at which the run was only interrupted, it is not tried.
    ///
    /// Errors  Stop, on every rank, if replicas are no longer equal.
    void evaluate() override;
    void save() override;

  private:
    [[nodiscard]] Accumulation accumulation() const;

    /// Work that began when the last one ended, and ends now.
    void trace_work(const std::string& name);
    void broadcast_statistics();
    void resume();

    const Options& options_;
    const data::Dataset& data_;
    Report& report_;
    Trace& trace_;
    const Communicator& comm_;
    std::shared_ptr<nn::Model> model_;
    std::unique_ptr<Strategy> strategy_;
    DistributedSampler sampler_;
    std::size_t all_steps_;
    std::size_t step_ = 0;   // done
    std::size_t saved_ = 0;  // of them, in the checkpoint
    std::size_t epoch_ = 0;
    std::vector<std::size_t> order_;  // this rank's pictures of the epoch

    // of this step
    Chunk group_;  // that it adds its gradients up with
    StepRecord record_;
    Stopwatch since_begin_;
    Stopwatch part_;
    double work_begin_s_ = 0;
    std::size_t correct_ = 0;
};

}  // namespace dist::trainer
