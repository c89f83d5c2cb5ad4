// What the training loop must do: the right calls in the right order, from any step to any other.
#include "exercises/05_data_parallel/resnet_trainer.hpp"

#include <ATen/ops/full.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

struct Run {
    std::size_t done;         // steps of an earlier run
    std::size_t steps;        // in all
    std::size_t epoch_steps;  // in an epoch
};

constexpr std::int64_t kBatch = 2;

/// How often each call was made.
using Counts = std::map<std::string, std::size_t>;

/// Three weights are fitted to the ranks' data. Says what was called too early, too late, or not at all.
class SmallParts final : public TrainingParts {
  public:
    /// besides  what each call does besides, by its name: it may throw.
    SmallParts(
        const Run& run,
        const Communicator& comm,
        std::function<void(const std::string& call)> besides = [](const std::string&) {}
    )
        : run_(run), comm_(comm), besides_(std::move(besides)), step_(run.done) {}

    [[nodiscard]] std::size_t step() const override { return step_; }
    [[nodiscard]] std::size_t steps() const override { return run_.steps; }
    [[nodiscard]] std::size_t epoch_steps() const override { return run_.epoch_steps; }

    void set_epoch(std::size_t epoch) override {
        called("set_epoch");
        expect(
            epoch == step_ / run_.epoch_steps, "set_epoch",
            "got " + std::to_string(epoch) + "; this step is in epoch " +
                std::to_string(step_ / run_.epoch_steps)
        );
        expect(!epoch_is_set_, "set_epoch", "an epoch's order is made once, before its first step");
        epoch_is_set_ = true;
        saved_ = false;
    }

    void train(bool on) override {
        called("train");
        training_ = on;
    }

    nn::Batch next_batch() override {
        called("next_batch");
        expect(step_ < run_.steps, "next_batch", "all steps of the run are done");
        expect(epoch_is_set_, "next_batch", "set_epoch has not been called for this epoch");
        expect(!batch_.labels.defined(), "next_batch", "this step has its batch already");
        batch_ = batch(step_, comm_.rank());
        return batch_;
    }

    void zero_gradients() override {
        called("zero_gradients");
        expect(!exchanged_, "zero_gradients", "the step needs these gradients: it comes first");
        weights_.mutable_grad() = at::Tensor();
    }

    at::Tensor forward(const at::Tensor& pictures) override {
        called("forward");
        expect(training_, "forward", "the model is not in training: train(true) comes before");
        expect(
            pictures.is_same(batch_.inputs), "forward", "these are not the pictures of the batch"
        );
        return pictures.matmul(weights_);
    }

    at::Tensor loss(const at::Tensor& scores, const at::Tensor& labels) override {
        called("loss");
        expect(labels.is_same(batch_.labels), "loss", "these are not the labels of the batch");
        loss_ = scores.sub(labels).square().mean();
        return loss_;
    }

    void exchange_gradients() override {
        called("exchange_gradients");
        expect(
            weights_.grad().defined(), "exchange_gradients",
            "there is no gradient yet: loss.backward() comes before"
        );
        expect(!exchanged_, "exchange_gradients", "this step's gradients have been exchanged");
        exchanged_ = true;
        if (weights_.grad().defined()) {
            std::vector<float> mean = elements(weights_.grad());
            MPI_CHECK(MPI_Allreduce(
                MPI_IN_PLACE, mean.data(), static_cast<int>(mean.size()), MPI_FLOAT, MPI_SUM,
                comm_.handle()
            ));
            scale(mean, 1.0F / static_cast<float>(comm_.size()));
            weights_.mutable_grad() = filled({3}, mean);
        }
    }

    void optimizer_step() override {
        called("optimizer_step");
        expect(
            exchanged_, "optimizer_step",
            "the gradients are this rank's own: exchange_gradients comes before"
        );
        expect(!stepped_, "optimizer_step", "this step has been taken");
        stepped_ = true;
        if (weights_.grad().defined()) {
            const c10::AutoGradMode no_grad(false);
            weights_.sub_(weights_.grad(), kRate);
        }
    }

    void end_step(const at::Tensor& loss) override {
        called("end_step");
        expect(stepped_, "end_step", "the optimizer has not taken the step");
        expect(loss.is_same(loss_), "end_step", "this is not the loss of the step");
        batch_ = {};
        loss_ = at::Tensor();
        exchanged_ = stepped_ = tested_ = false;
        ++step_;
        if (step_ % run_.epoch_steps == 0 || step_ == run_.steps) {
            epoch_is_set_ = false;  // the next one has to be
        }
    }

    void evaluate() override {
        called("evaluate");
        expect(!training_, "evaluate", "the model is in training: train(false) comes before");
        expect(!epoch_is_set_, "evaluate", "the epoch has steps left");
        expect(!tested_, "evaluate", "it has been tried since the last step");
        tested_ = true;
        tests_.push_back(step_);
    }

    void save() override {
        called("save");
        expect(tested_, "save", "the model has not been tried since the last step");
        expect(!saved_, "save", "this checkpoint is written already");
        saved_ = true;
        saves_.push_back(step_);
    }

    /// Whether all calls came in their order; if not, the first that did not, and why.
    [[nodiscard]] Comparison in_order() const { return {wrong_.empty(), wrong_}; }

    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] const std::vector<std::size_t>& tests() const { return tests_; }
    [[nodiscard]] const std::vector<std::size_t>& saves() const { return saves_; }
    [[nodiscard]] std::vector<float> weights() const { return elements(weights_); }

    /// What one process would have after the same steps, with the batches of all ranks.
    [[nodiscard]] std::vector<float> expected_weights() const {
        const at::Tensor weights = first_weights().requires_grad_();
        for (std::size_t step = run_.done; step < run_.steps; ++step) {
            weights.mutable_grad() = at::Tensor();
            for (int rank = 0; rank < comm_.size(); ++rank) {
                const nn::Batch part = batch(step, rank);
                const at::Tensor loss = part.inputs.matmul(weights).sub(part.labels).square();
                loss.mean().div(comm_.size()).backward();
            }
            const c10::AutoGradMode no_grad(false);
            weights.sub_(weights.grad(), kRate);
        }
        return elements(weights);
    }

  private:
    static constexpr double kRate = 0.001;

    static at::Tensor first_weights() { return at::full({3}, 10.0, at::kFloat); }

    static nn::Batch batch(std::size_t step, int rank) {
        return {filled({kBatch, 3}, rank, 2 * step), filled({kBatch}, rank, 2 * step + 1)};
    }

    void called(const std::string& call) {
        if (++counts_[call] > 1000) {
            throw std::runtime_error(call + " was called 1000 times: the loop goes on for ever");
        }
        besides_(call);
    }

    /// Keeps the first sentence only: others follow from it.
    void expect(bool good, const std::string& call, const std::string& sentence) {
        if (!good && wrong_.empty()) {
            wrong_ = call + " in step " + std::to_string(step_) + ": " + sentence;
        }
    }

    Run run_;
    const Communicator& comm_;
    std::function<void(const std::string& call)> besides_;
    Counts counts_;
    std::size_t step_;
    at::Tensor weights_ = first_weights().requires_grad_();
    nn::Batch batch_;  // of this step, once it has one
    at::Tensor loss_;
    bool training_ = false;
    bool epoch_is_set_ = false;
    bool exchanged_ = false;
    bool stepped_ = false;
    bool tested_ = false;
    bool saved_ = false;
    std::vector<std::size_t> tests_;  // after which steps
    std::vector<std::size_t> saves_;
    std::string wrong_;
};

/// The steps after which a run is tested and saved.
std::vector<std::size_t> ends(const Run& run) {
    std::vector<std::size_t> steps;
    for (std::size_t step = run.done + 1; step <= run.steps; ++step) {
        if (step % run.epoch_steps == 0 || step == run.steps) {
            steps.push_back(step);
        }
    }
    return steps;
}

std::string to_string(const std::vector<std::size_t>& steps) {
    std::string text;
    for (const std::size_t step : steps) {
        text += (text.empty() ? "" : ", ") + std::to_string(step);
    }
    return text.empty() ? "none" : text;
}

/// Whether a run was tested and saved after these steps.
Comparison after(
    const std::string& what,
    const std::vector<std::size_t>& got,
    const std::vector<std::size_t>& expected
) {
    return {
        got == expected,
        what + " after steps: " + to_string(got) + "; expected: " + to_string(expected)};
}

/// Whether each was called as often as the header's Cost says. `train` may be called more often, but not where
/// nothing is left to do.
Comparison as_often_as_needed(const SmallParts& parts, const Run& run) {
    Counts counts = parts.counts();
    const std::size_t steps = run.steps - std::min(run.done, run.steps);
    const std::vector<std::size_t> epochs = ends(run);
    if (steps > 0) {
        counts.erase("train");
    }
    for (const char* const call :
         {"next_batch", "zero_gradients", "forward", "loss", "exchange_gradients", "optimizer_step",
          "end_step"}) {
        counts[call] -= steps;
    }
    for (const char* const call : {"set_epoch", "evaluate", "save"}) {
        counts[call] -= epochs.size();
    }
    for (const auto& [call, more] : counts) {
        if (more != 0) {
            const std::size_t made = parts.counts().at(call);
            return {
                false, call + " was called " + counted(made, "time") + "; expected " +
                           std::to_string(made - more) + " in " + counted(steps, "step") + " and " +
                           counted(epochs.size(), "epoch")};
        }
    }
    return {};
}

/// Whether a run went as it should; the first thing that did not.
Comparison trained(const SmallParts& parts, const Run& run) {
    for (const Comparison& result :
         {parts.in_order(), as_often_as_needed(parts, run),
          same(parts.weights(), parts.expected_weights(), 1e-5)}) {
        if (!result) {
            return result;
        }
    }
    return {};
}

void trains(const Run& run, const std::vector<int>& worlds) {
    on_ranks(worlds, [&](const Communicator& comm) {
        SmallParts parts(run, comm);
        resnet_trainer(parts);
        INFO(
            "a run from step " << run.done << " to " << run.steps << ", "
                               << counted(run.epoch_steps, "step") << " an epoch"
        );
        CHECK(parts.in_order());
        CHECK(parts.step() == std::max(run.done, run.steps));
        CHECK(after("tests", parts.tests(), ends(run)));
        CHECK(after("checkpoints", parts.saves(), ends(run)));
        CHECK(as_often_as_needed(parts, run));
        INFO("weights, against one process with the data of all " << counted(comm.size(), "rank"));
        CHECK(same(parts.weights(), parts.expected_weights(), 1e-5));
    });
}

}  // namespace

TEST_CASE("train_step makes gradients, exchanges them, and takes the step with them") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        for (const std::size_t steps : {1, 3}) {
            SmallParts parts({0, steps, steps}, comm);
            parts.set_epoch(0);
            parts.train(true);
            for (std::size_t step = 0; step < steps; ++step) {
                train_step(parts);
            }
            CHECK(parts.in_order());
            INFO(counted(steps, "step") << "; backward() adds to the gradients that are there");
            CHECK(same(parts.weights(), parts.expected_weights(), 1e-6));
        }
    });
}

TEST_CASE("resnet_trainer trains for whole epochs, with a test and a checkpoint after each") {
    trains({0, 6, 3}, {2, 1, 3});
    trains({0, 4, 1}, {2});
}

TEST_CASE("resnet_trainer ends after the last step, also in the middle of an epoch") {
    trains({0, 7, 3}, {2});
    trains({0, 2, 5}, {2});
}

TEST_CASE("resnet_trainer goes on where a run stopped, also in the middle of an epoch") {
    trains({4, 9, 3}, {2});
    trains({3, 6, 3}, {2});
    trains({5, 8, 3}, {1});
}

TEST_CASE("resnet_trainer goes on after more steps than 32 or 53 bits can count") {
    const std::size_t many = std::size_t{1} << 32U;
    const std::size_t more = (std::size_t{1} << 53U) + 1;
    trains({many + 1, many + 6, 3}, {2});
    trains({more, more + 4, 3}, {1});
    trains({0, 2, 3 * many}, {1});
}

TEST_CASE("resnet_trainer hands on what any of its parts throws") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Run run{0, 2, 1};
        const auto call = [&](const Bomb& bomb) {
            SmallParts parts(run, comm, [bomb](const std::string&) { bomb(); });
            resnet_trainer(parts);
        };
        // two epochs of one step: seven calls, and five around them
        everything_throws(24, call, [&] {
            SmallParts parts(run, comm);
            resnet_trainer(parts);
            return trained(parts, run);
        });
    });
}

TEST_CASE("resnet_trainer may be called by a part of another run, which goes on where it was") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        for (const char* const where : {"evaluate", "next_batch"}) {
            const Run run{1, 5, 3};
            const Run another{2, 9, 4};
            Comparison inside;
            SmallParts parts(run, comm, [&](const std::string& call) {
                if (call == where) {
                    SmallParts inner(another, comm);
                    resnet_trainer(inner);
                    const Comparison result = trained(inner, another);
                    inside = inside ? result : inside;
                }
            });
            resnet_trainer(parts);
            INFO("each call of " << where << " trains another model");
            CHECK(inside);
            CHECK(trained(parts, run));
        }
    });
}

TEST_CASE("resnet_trainer does nothing where no step is left") {
    trains({6, 6, 3}, {2});
    trains({4, 4, 3}, {2});
    trains({0, 0, 3}, {2});
    trains({7, 6, 3}, {1});
}

TEST_CASE("resnet_trainer is right on 11 ranks", "[many]") {
    trains({1, 4, 2}, {11});
}
