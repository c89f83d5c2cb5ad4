// What the loop of exercise resnet_trainer calls, for any task and any way of --parallel.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "course/files/sole_writer.hpp"
#include "course/nn/model.hpp"
#include "course/parallel/strategy.hpp"
#include "course/parallel/trace.hpp"
#include "course/runtime/clock.hpp"
#include "course/trainer/account.hpp"
#include "course/trainer/accumulation.hpp"
#include "course/trainer/examples.hpp"
#include "course/trainer/options.hpp"
#include "course/trainer/part_clock.hpp"
#include "course/trainer/steps.hpp"
#include "course/trainer/task.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/05_data_parallel/resnet_trainer.hpp"
#include "exercises/10_elastic/snapshot.hpp"

namespace dist::trainer {

class LoopParts final : public TrainingParts {
  public:
    /// Rank 0's weights on every rank, or a checkpoint's.
    ///
    /// comm    collective, as all calls are but step(), steps() and epoch_steps().
    ///
    /// Errors  Stop, on every rank, if the run cannot go on from its checkpoint.
    LoopParts(
        const Options& options,
        const Task& task,
        Account& account,
        Trace& trace,
        const Communicator& comm
    );

    /// Of the whole run, which may stop before (--stop-after).
    [[nodiscard]] std::size_t all_steps() const { return all_steps_; }

    /// The steps of the run that this one goes on from; none if it begins.
    [[nodiscard]] const Steps& begun() const { return begun_; }

    [[nodiscard]] std::size_t step() const override { return step_; }

    /// Not between two steps that add their gradients up: a checkpoint has none.
    [[nodiscard]] std::size_t steps() const override;
    [[nodiscard]] std::size_t epoch_steps() const override;
    void set_epoch(std::size_t epoch) override;
    void train(bool on) override;
    nn::Batch next_batch() override;
    void zero_gradients() override;
    at::Tensor forward(const at::Tensor& inputs) override;
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

    /// Images or tokens that all ranks together have seen after so many steps.
    [[nodiscard]] std::size_t seen_after(std::size_t steps) const;

    /// Work that began when the last one ended, and ends now.
    void trace_work(const std::string& name);

    /// Waits for the losses of the steps since the last call, and reports them.
    void report_steps();
    void broadcast_statistics();
    void write_checkpoint();

    /// From now on no other run writes the checkpoint, such as one that is over and does not know it.
    void take_over();
    void resume();

    const Options& options_;
    const Task& task_;
    TaskFacts facts_;
    Account& account_;
    Trace& trace_;
    const Communicator& comm_;  // of all ranks
    at::Device device_;
    std::shared_ptr<nn::Model> model_;
    std::unique_ptr<Strategy> strategy_;
    const Communicator& data_ranks_;
    std::unique_ptr<Examples> examples_;
    std::optional<files::SoleWriter> writer_;  // of the checkpoint of an elastic run: rank 0's
    std::size_t all_steps_;
    Steps begun_;                           // of the run that this one goes on from
    std::size_t step_ = 0;                  // done
    std::size_t saved_ = 0;                 // of them, in the checkpoint
    std::unique_ptr<Snapshots> snapshots_;  // with --async-save
    std::size_t epoch_ = 0;

    // of this step
    Chunk group_;  // that it adds its gradients up with
    StepRecord record_;
    Stopwatch since_begin_;
    PartClock part_;
    double weight_ = 1;  // of this rank in the mean over data ranks
    double work_begin_s_ = 0;
    at::Tensor accuracy_;  // on this rank's batch

    // steps that are not reported yet
    std::vector<StepRecord> unreported_;
    std::vector<at::Tensor> results_;  // of each, (2): loss and accuracy
};

}  // namespace dist::trainer
