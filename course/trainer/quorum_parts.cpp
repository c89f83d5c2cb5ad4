#include "course/trainer/quorum_parts.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

#include <torch/utils.h>

#include "course/parallel/fault.hpp"
#include "course/parallel/together.hpp"
#include "course/trainer/checkpoint.hpp"
#include "course/trainer/schedule.hpp"

namespace dist::trainer {

namespace {

std::shared_ptr<nn::Model> make_first_model(const Options& options, const Task& task) {
    torch::manual_seed(options.seed);
    return task.make_model();
}

/// "quorum 3 from step 21 on: replicas 0.1, 1.2, 2.1; 1.2 copies the weights".
std::string describe_quorum(const Quorum& quorum) {
    std::string members;
    std::string healing;
    for (std::size_t rank = 0; rank < quorum.members.size(); ++rank) {
        members += (members.empty() ? "" : ", ") + quorum.members[rank];
        if (quorum.heals(static_cast<int>(rank))) {
            healing +=
                (healing.empty() ? "; copies of the weights go to " : ", ") + quorum.members[rank];
        }
    }
    return "quorum " + std::to_string(quorum.number) + " from step " +
           std::to_string(quorum.step + 1) + " on: replicas " + members + healing;
}

}  // namespace

QuorumParts::QuorumParts(
    const Options& options,
    const Task& task,
    Account& account,
    const ReplicaId& id,
    const Communicator& alone
)
    : options_(options),
      task_(task),
      facts_(task.facts()),
      account_(account),
      id_(id),
      alone_(alone),
      model_(make_first_model(options, task)),
      state_(options, model_),
      examples_(make_examples(options, facts_.train_size, 0, 1)),
      steps_(options.steps.value_or(options.epochs * examples_->epoch_steps())),
      begun_(resume()),
      step_(begun_.done),
      saved_(step_),
      group_(id, state_.row(), static_cast<std::int64_t>(step_)) {}

Steps QuorumParts::resume() {
    if (options_.checkpoint.empty()) {
        return {};
    }
    Steps begun;
    const std::filesystem::path file = checkpoint_file(options_.checkpoint);
    if (exists(file)) {
        const Checkpoint saved = read_checkpoint(options_.checkpoint);
        const std::string run = describe_run(options_, facts_, 1);
        load_checkpoint(file, saved, run, [this](const StateDict& state) {
            state_.load_state_dict(state, 0);
        });
        begun = saved.steps;
        state_.set_steps(static_cast<std::int64_t>(begun.done));
    }
    expect_writable(options_.checkpoint);
    return begun;
}

void QuorumParts::set_epoch(std::size_t epoch) {
    epoch_ = epoch;
    account_.begin_epoch(epoch);
}

// Who heals has no say in the mean, and computes on one example what nobody asks for.
nn::Batch QuorumParts::next_batch() {
    part_.lap_s();
    if (!group_.begin_step()) {
        throw AllTaken();
    }
    record_ = {.unit = facts_.unit};
    record_.communication_s = part_.lap_s();
    const Quorum& quorum = group_.quorum();
    tell_of_quorum();
    number_ = static_cast<std::size_t>(quorum.step);
    inject_fault(id_.number, number_ + 1);
    const std::vector<int> ranks = quorum.participants();
    const auto found = std::ranges::find(ranks, group_.rank());
    const auto place = static_cast<int>(found == ranks.end() ? 0 : found - ranks.begin());
    const std::pair share(place, static_cast<int>(ranks.size()));
    if (share != share_) {
        share_ = share;
        examples_ = make_examples(options_, facts_.train_size, share.first, share.second);
    }
    StepExamples mine = examples_->of_step(number_);
    if (group_.heals()) {
        mine = {.numbers = mine.numbers.first(1), .weight = 0};
    }
    weight_ = mine.weight;
    const nn::Batch batch = task_.train_batch(mine.numbers, number_ / epoch_steps());
    record_.data_s = part_.lap_s();
    return batch;
}

void QuorumParts::tell_of_quorum() {
    const Quorum& quorum = group_.quorum();
    if (quorum.number != told_) {
        told_ = quorum.number;
        account_.say(describe_quorum(quorum));
    }
}

at::Tensor QuorumParts::loss(const at::Tensor& scores, const at::Tensor& labels) {
    const at::Tensor weighted = task_.loss(scores, labels).mul(weight_);
    loss_ = weighted.detach();
    accuracy_ = task_.accuracy(scores, labels);
    record_.forward_s = part_.lap_s();
    return weighted;
}

void QuorumParts::exchange_gradients() {
    state_.gather(weight_, loss_, accuracy_);
    record_.backward_s = part_.lap_s();
    group_.all_reduce(state_.mean());
    counts_ = group_.should_commit();
    if (group_.heals()) {
        state_.set_steps(group_.step() - (counts_ ? 1 : 0));
    }
    record_.communication_s += part_.lap_s();
}

void QuorumParts::optimizer_step() {
    if (!counts_) {
        return;
    }
    const auto rate = options_.schedule == "onecycle" ? onecycle_rate : cosine_rate;
    record_.rate = rate(options_.rate, number_, steps_);
    state_.step(record_.rate);
    record_.optimizer_s = part_.lap_s();
}

void QuorumParts::end_step(const at::Tensor& /*loss*/) {
    step_ = static_cast<std::size_t>(group_.step());
    if (!counts_) {
        account_.say("step " + std::to_string(number_ + 1) + " did not count");
        return;
    }
    if (const std::size_t epoch = number_ / epoch_steps(); epoch != epoch_) {
        set_epoch(epoch);  // it has healed
    }
    record_.step = step_;
    record_.epoch = epoch_ + 1;
    record_.loss = state_.loss();
    record_.accuracy = state_.accuracy();
    record_.seen = examples_->seen_after(step_) * facts_.units;
    const std::size_t seen_now = record_.seen - examples_->seen_after(number_) * facts_.units;
    const double step_s = record_.data_s + record_.forward_s + record_.backward_s +
                          record_.communication_s + record_.optimizer_s;
    record_.seen_per_s = static_cast<double>(seen_now) / step_s;
    account_.end_step(record_);
    const bool at_end = step_ % epoch_steps() == 0 || step_ == steps_;  // the loop saves then
    if (options_.save_every && step_ - saved_ >= *options_.save_every && !at_end) {
        save();
    }
}

void QuorumParts::evaluate() {
    if (step_ < steps_ && step_ % epoch_steps() != 0) {
        return;
    }
    const Stopwatch watch;
    state_.begin_step();  // the statistics of all
    EpochRecord record;
    record.step = step_;
    record.test = task_.test([this](const at::Tensor& in) { return forward(in); }, alone_);
    record.evaluation_s = watch.elapsed_s();
    account_.end_epoch(record);
}

void QuorumParts::save() {
    if (options_.checkpoint.empty()) {
        return;
    }
    const Stopwatch watch;
    const std::string run = describe_run(options_, facts_, 1);
    save_checkpoint(options_.checkpoint, {run, {step_, steps_}, state_.state_dict()});
    saved_ = step_;
    account_.end_save(watch.elapsed_s());
}

void train_replica(Options options, const Communicator& alone) {
    const ReplicaId id = replica_id();
    if (id.number != 0 && std::freopen("/dev/null", "w", stdout) == nullptr) {
        std::perror("/dev/null");
    }
    if (!options.log.empty()) {
        options.log += "." + id.name;
    }
    if (!options.checkpoint.empty()) {
        options.checkpoint /= "replica-" + std::to_string(id.number);
    }
    std::unique_ptr<Task> task;
    together(alone, [&] { task = make_task(options, 0); });
    Account account(options, task->facts(), alone);
    std::unique_ptr<QuorumParts> parts;
    together(alone, [&] {
        parts = std::make_unique<QuorumParts>(options, *task, account, id, alone);
    });
    account.begin_run(parts->begun(), parts->steps(), parts->epoch_steps());
    try {
        resnet_trainer(*parts);
    } catch (const QuorumParts::AllTaken&) {
        account.say("the others have taken all steps");
        return;
    }
    parts->finish();
    account.end_run(parts->step());
}

}  // namespace dist::trainer
