// What the loop of exercise resnet_trainer calls where replicas go on without those that die:
// --fault-tolerant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "course/nn/model.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/communicator.hpp"
#include "course/trainer/account.hpp"
#include "course/trainer/examples.hpp"
#include "course/trainer/options.hpp"
#include "course/trainer/replica_group.hpp"
#include "course/trainer/replica_state.hpp"
#include "course/trainer/steps.hpp"
#include "course/trainer/task.hpp"
#include "exercises/05_data_parallel/resnet_trainer.hpp"

namespace dist::trainer {

/// A step that does not count leaves step() as it is, so the loop takes it again, with the same
/// examples. Who heals is at the others' step after it. The examples of a step are shared out among
/// those of the quorum that are up to date.
class QuorumParts final : public TrainingParts {
  public:
    /// Thrown by next_batch(): the others have taken all steps, without this replica.
    struct AllTaken : std::exception {};

    /// Fresh weights, or those of this replica's checkpoint; the others' as soon as there is a
    /// quorum.
    ///
    /// alone  a world of one rank: this process.
    ///
    /// Errors  std::runtime_error if the checkpoint is of no use.
    QuorumParts(
        const Options& options,
        const Task& task,
        Account& account,
        const ReplicaId& id,
        const Communicator& alone
    );

    [[nodiscard]] const Steps& begun() const { return begun_; }
    [[nodiscard]] std::size_t step() const override { return step_; }
    [[nodiscard]] std::size_t steps() const override { return steps_; }
    [[nodiscard]] std::size_t epoch_steps() const override { return examples_->epoch_steps(); }
    void set_epoch(std::size_t epoch) override;
    void train(bool on) override { model_->train(on); }
    nn::Batch next_batch() override;
    void zero_gradients() override { state_.begin_step(); }
    at::Tensor forward(const at::Tensor& inputs) override { return model_->forward(inputs); }
    at::Tensor loss(const at::Tensor& scores, const at::Tensor& labels) override;

    /// And whether the step counts.
    void exchange_gradients() override;
    void optimizer_step() override;
    void end_step(const at::Tensor& loss) override;
    void evaluate() override;
    void save() override;

    /// All steps are taken.
    void finish() { group_.finish(); }

  private:
    void tell_of_quorum();
    Steps resume();

    const Options& options_;
    const Task& task_;
    TaskFacts facts_;
    Account& account_;
    ReplicaId id_;
    const Communicator& alone_;
    std::shared_ptr<nn::Model> model_;
    ReplicaState state_;
    std::unique_ptr<Examples> examples_;
    std::pair<int, int> share_ = {0, 1};  // whose they are: place, and number of those that share
    std::size_t steps_;
    Steps begun_;
    std::size_t step_;
    std::size_t saved_;
    std::size_t epoch_ = 0;
    ReplicaGroup group_;
    std::int64_t told_ = 0;  // the last quorum that was told of

    // of this step
    std::size_t number_ = 0;  // from 0
    StepRecord record_;
    Stopwatch part_;
    double weight_ = 0;
    at::Tensor loss_;
    at::Tensor accuracy_;
    bool counts_ = false;
};

/// Trains as one of the replicas that the launcher started. Log and checkpoint are this replica's
/// own: FILE.REPLICA.LIFE, and DIR/replica-REPLICA. The first replica speaks for all.
///
/// Errors  Stop, if data, log or checkpoint cannot be used, or there is no launcher.
void train_replica(Options options, const Communicator& alone);

}  // namespace dist::trainer
