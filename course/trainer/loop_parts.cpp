#include "course/trainer/loop_parts.hpp"

#include <ATen/ops/stack.h>
#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include <torch/utils.h>

#include "course/parallel/autocast.hpp"
#include "course/parallel/device.hpp"
#include "course/parallel/fault.hpp"
#include "course/parallel/flight.hpp"
#include "course/parallel/stop.hpp"
#include "course/parallel/together.hpp"
#include "course/trainer/checkpoint.hpp"
#include "course/trainer/schedule.hpp"
#include "course/trainer/snapshot.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"

namespace dist::trainer {

namespace {

std::shared_ptr<nn::Model> make_replica(const Options& options, const Task& task, int rank) {
    torch::manual_seed(options.seed + static_cast<std::uint64_t>(rank));
    return task.make_model();
}

}  // namespace

LoopParts::LoopParts(
    const Options& options,
    const Task& task,
    Account& account,
    Trace& trace,
    const Communicator& comm
)
    : options_(options),
      task_(task),
      facts_(task.facts()),
      account_(account),
      trace_(trace),
      comm_(comm),
      device_(device_of(options, comm.rank())),
      model_(make_replica(options, task, comm.rank())),
      strategy_(make_strategy(options, model_, trace, comm)),
      data_ranks_(strategy_->data_ranks(comm)),
      examples_(make_examples(options, facts_.train_size, data_ranks_.rank(), data_ranks_.size())),
      all_steps_(options.steps.value_or(options.epochs * epoch_steps())) {
    if (epoch_steps() == 0) {
        throw Stop("--last-batch drop: too few " + facts_.examples + " for one step of all ranks");
    }
    broadcast_statistics();
    if (options_.elastic) {
        together(comm_, [this] { take_over(); });  // before any rank reads it: all read the same
    }
    together(comm_, [this] { resume(); });
    if (options_.async_save) {
        snapshots_ = std::make_unique<Snapshots>(options_.checkpoint, comm_);
    }
}

std::size_t LoopParts::steps() const {
    const std::size_t stop = options_.stop_after.value_or(all_steps_);
    return stop < all_steps_ ? accumulation().end(stop - 1) : all_steps_;
}

Accumulation LoopParts::accumulation() const {
    return {.k = options_.accumulate, .epoch_steps = epoch_steps(), .all_steps = all_steps_};
}

std::size_t LoopParts::epoch_steps() const {
    return examples_->epoch_steps();  // 0 only if that is refused
}

std::size_t LoopParts::seen_after(std::size_t steps) const {
    return examples_->seen_after(steps) * facts_.units;
}

void LoopParts::set_epoch(std::size_t epoch) {
    epoch_ = epoch;
    account_.begin_epoch(epoch);
}

void LoopParts::train(bool on) {
    model_->train(on);
}

nn::Batch LoopParts::next_batch() {
    inject_fault(comm_.rank(), step_ + 1);
    record_ = {.step = step_ + 1, .epoch = epoch_ + 1, .unit = facts_.unit};
    trace_.begin_step();
    if (unreported_.empty()) {
        since_begin_.lap_s();
    }
    part_.start();
    work_begin_s_ = now_s();
    const auto [numbers, weight] = examples_->of_step(step_);
    weight_ = weight;
    const nn::Batch batch = task_.train_batch(numbers, epoch_);
    record_.data_s = part_.lap_s(record_);
    trace_work("data");
    return batch;
}

void LoopParts::zero_gradients() {
    group_ = {accumulation().begin(step_), accumulation().end(step_)};
    if (step_ == group_.begin) {
        strategy_->zero_gradients();
    }
}

// Scores in float32, in bfloat16 on the way if asked for.
at::Tensor LoopParts::forward(const at::Tensor& inputs) {
    const Autocast autocast(options_.dtype == "bf16", device_.type());
    return strategy_->forward(inputs).to(at::kFloat);
}

at::Tensor LoopParts::loss(const at::Tensor& scores, const at::Tensor& labels) {
    const auto by_task = [this](const at::Tensor& made, const at::Tensor& wanted) {
        return Judged{task_.loss(made, wanted), task_.accuracy(made, wanted)};
    };
    const auto [loss, accuracy] = strategy_->judge(scores, labels, by_task);
    accuracy_ = accuracy;
    record_.forward_s = part_.lap_s(record_);
    trace_work("forward");
    const at::Tensor weighted = weight_ == 1 ? loss : loss.mul(weight_);
    const at::Tensor share =
        group_.size() == 1 ? weighted : weighted.div(static_cast<double>(group_.size()));
    if (step_ + 1 == group_.end) {
        strategy_->prepare_for_backward(share);
    }
    return share;
}

void LoopParts::exchange_gradients() {
    record_.backward_s = part_.lap_s(record_);
    trace_work("backward");
    if (step_ + 1 == group_.end) {
        strategy_->exchange_gradients();
    }
    record_.communication_s += part_.lap_s(record_);
}

void LoopParts::optimizer_step() {
    part_.start();
    work_begin_s_ = now_s();
    const auto rate = options_.schedule == "onecycle" ? onecycle_rate : cosine_rate;
    const Accumulation groups = accumulation();
    record_.rate = rate(options_.rate, groups.groups(group_.begin), groups.groups(all_steps_));
    if (step_ + 1 == group_.end) {
        if (options_.clip_norm) {
            record_.grad_norm = strategy_->clip_gradients(*options_.clip_norm);
        }
        strategy_->step(record_.rate);
    }
    record_.optimizer_s = part_.lap_s(record_);
    trace_work("optimizer");
}

void LoopParts::end_step(const at::Tensor& loss) {
    trace_.end_step();
    ++step_;
    const auto steps_in_group = static_cast<double>(group_.size());
    results_.push_back(at::stack({loss.detach() * steps_in_group, accuracy_ * weight_}));
    record_.seen = seen_after(step_);
    unreported_.push_back(record_);
    // reading a GPU's numbers waits for all that it was asked for, and the mean of losses for the slowest worker, whom
    // others may leave behind: not in every step, then
    constexpr std::size_t kSeldom = 20;
    if ((device_.is_cpu() && options_.staleness == 0) || unreported_.size() == kSeldom) {
        report_steps();
    }
    const bool at_end = step_ % epoch_steps() == 0 || step_ == steps();  // the loop saves then
    if (options_.save_every && step_ - saved_ >= *options_.save_every && step_ == group_.end &&
        !at_end) {
        save();
    }
}

void LoopParts::report_steps() {
    if (unreported_.empty()) {
        return;
    }
    const at::Tensor results = at::stack(results_).cpu();  // (steps, 2), of this rank's batches
    const std::span means(results.data_ptr<float>(), static_cast<std::size_t>(results.numel()));
    {
        const auto n = static_cast<std::int64_t>(means.size());
        const Noted noted(data_ranks_, {.name = "all_reduce", .count = n, .op = "mean"});
        ring_all_reduce(means, ReduceOp::mean, data_ranks_);
    }
    const std::size_t seen = seen_after(step_) - seen_after(step_ - unreported_.size());
    for (std::size_t i = 0; i < unreported_.size(); ++i) {
        unreported_[i].loss = means[2 * i];
        unreported_[i].accuracy = means[2 * i + 1];
        unreported_[i].seen_per_s = static_cast<double>(seen) / since_begin_.elapsed_s();
        account_.end_step(unreported_[i]);
    }
    unreported_.clear();
    results_.clear();
}

void LoopParts::trace_work(const std::string& name) {
    const double end_s = now_s();
    trace_.add(Lane::compute, name, work_begin_s_, end_s);
    work_begin_s_ = end_s;
}

void LoopParts::evaluate() {
    report_steps();
    strategy_->expect_equal(step_);
    if (step_ < all_steps_ && step_ % epoch_steps() != 0) {
        return;
    }
    const Stopwatch watch;
    broadcast_statistics();
    EpochRecord record;
    record.step = step_;
    strategy_->with_weights([&] {
        const auto scores = [this](const at::Tensor& in) { return forward(in); };
        record.test = task_.test(scores, strategy_->test_ranks(comm_));
    });
    record.evaluation_s = watch.elapsed_s();
    account_.end_epoch(record);
}

void LoopParts::save() {
    report_steps();
    const Stopwatch watch;
    if (options_.checkpoint.empty()) {
        return;
    }
    constexpr int kWentWrong = 1;
    together(
        comm_, [this] { write_checkpoint(); }, kWentWrong
    );
    saved_ = step_;
    account_.end_save(watch.elapsed_s());
}

void LoopParts::write_checkpoint() {
    const std::string run = describe_run(options_, facts_, data_ranks_.size());
    const Steps at = {step_, all_steps_};
    if (snapshots_) {
        take_snapshot(*snapshots_, run, at, strategy_->parts(), comm_);
        if (step_ == steps()) {
            snapshots_->wait();  // the last: nobody would hear of its errors
        }
        return;
    }
    const StateDict state = strategy_->state_dict();
    if (comm_.rank() == 0) {
        save_checkpoint(options_.checkpoint, {run, at, state}, writer_ ? &*writer_ : nullptr);
    }
}

// The statistics of batch normalisations differ between ranks, as each saw its own pictures. As in
// DistributedDataParallel, rank 0's count.
void LoopParts::broadcast_statistics() {
    const std::vector<at::Tensor> buffers = model_->buffers();
    std::vector<at::Tensor> on_host;  // on a CPU the buffers themselves
    for (const at::Tensor& buffer : buffers) {
        on_host.push_back(buffer.cpu());
    }
    {
        const Noted noted(comm_, {.name = "broadcast", .count = -1, .root = 0});
        broadcast_parameters(on_host, 0, comm_);
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        buffers[i].copy_(on_host[i]);
    }
}

void LoopParts::take_over() {
    if (comm_.rank() == 0) {
        expect_writable(options_.checkpoint);
        writer_.emplace(checkpoint_file(options_.checkpoint));
    }
}

void LoopParts::resume() {
    const std::filesystem::path& folder = options_.checkpoint;
    if (folder.empty()) {
        return;
    }
    const Saved saved = find_saved(folder, comm_);
    const bool is_there = saved != Saved::nothing;
    if (options_.resume || (options_.elastic && is_there)) {
        const Checkpoint checkpoint = read_saved(saved, folder, comm_);
        const std::string run = describe_run(options_, facts_, data_ranks_.size());
        load_checkpoint(file_of(saved, folder), checkpoint, run, [this](const StateDict& state) {
            strategy_->load_state_dict(state);
        });
        begun_ = checkpoint.steps;
        step_ = begun_.done;
        saved_ = step_;
    } else if (is_there) {
        throw std::runtime_error(
            file_of(saved, folder).string() +
            ": is there already; go on from it with --resume, or give another folder"
        );
    }
    if (comm_.rank() == 0) {
        expect_writable(folder);  // better known now than after the first epoch
    }
}

}  // namespace dist::trainer
