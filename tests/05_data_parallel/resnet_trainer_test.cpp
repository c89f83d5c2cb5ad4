// What the training loop must do: the right calls in the right order, from any step to any other.
#include "exercises/05_data_parallel/resnet_trainer.hpp"

#include <ATen/ops/full.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <string>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/tensors.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

struct Run {
    std::size_t done;         // steps of an earlier run
    std::size_t steps;        // in all
    std::size_t epoch_steps;  // in an epoch
};

constexpr std::int64_t kBatch = 2;

/// Three weights are fitted to the ranks' data. Says what was called too early, too late, or not at all.
class SmallParts final : public TrainingParts {
  public:
    SmallParts(const Run& run, const Communicator& comm)
        : run_(run), comm_(comm), step_(run.done) {}

    [[nodiscard]] std::size_t step() const override { return step_; }
    [[nodiscard]] std::size_t steps() const override { return run_.steps; }
    [[nodiscard]] std::size_t epoch_steps() const override { return run_.epoch_steps; }

    void set_epoch(std::size_t epoch) override {
        expect(
            epoch == step_ / run_.epoch_steps, "set_epoch",
            "got " + std::to_string(epoch) + "; this step is in epoch " +
                std::to_string(step_ / run_.epoch_steps)
        );
        expect(!epoch_is_set_, "set_epoch", "an epoch's order is made once, before its first step");
        epoch_is_set_ = true;
        saved_ = false;
    }

    void train(bool on) override { training_ = on; }

    nn::Batch next_batch() override {
        expect(step_ < run_.steps, "next_batch", "all steps of the run are done");
        expect(epoch_is_set_, "next_batch", "set_epoch has not been called for this epoch");
        expect(!batch_.labels.defined(), "next_batch", "this step has its batch already");
        batch_ = batch(step_, comm_.rank());
        return batch_;
    }

    void zero_gradients() override {
        expect(!exchanged_, "zero_gradients", "the step needs these gradients: it comes first");
        weights_.mutable_grad() = at::Tensor();
    }

    at::Tensor forward(const at::Tensor& pictures) override {
        expect(training_, "forward", "the model is not in training: train(true) comes before");
        expect(
            pictures.is_same(batch_.pictures), "forward", "these are not the pictures of the batch"
        );
        return pictures.matmul(weights_);
    }

    at::Tensor loss(const at::Tensor& scores, const at::Tensor& labels) override {
        expect(labels.is_same(batch_.labels), "loss", "these are not the labels of the batch");
        loss_ = scores.sub(labels).square().mean();
        return loss_;
    }

    void exchange_gradients() override {
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
        expect(!training_, "evaluate", "the model is in training: train(false) comes before");
        expect(!epoch_is_set_, "evaluate", "the epoch has steps left");
        expect(!tested_, "evaluate", "it has been tried since the last step");
        tested_ = true;
        tests_.push_back(step_);
    }

    void save() override {
        expect(tested_, "save", "the model has not been tried since the last step");
        expect(!saved_, "save", "this checkpoint is written already");
        saved_ = true;
        saves_.push_back(step_);
    }

    /// Whether all calls came in their order; if not, the first that did not, and why.
    [[nodiscard]] Comparison in_order() const { return {wrong_.empty(), wrong_}; }

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
                const at::Tensor loss = part.pictures.matmul(weights).sub(part.labels).square();
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

    /// Keeps the first sentence only: others follow from it.
    void expect(bool good, const std::string& call, const std::string& sentence) {
        if (!good && wrong_.empty()) {
            wrong_ = call + " in step " + std::to_string(step_) + ": " + sentence;
        }
    }

    Run run_;
    const Communicator& comm_;
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

void trains(const Run& run, const std::vector<int>& worlds) {
    on_ranks(worlds, [&](const Communicator& comm) {
        SmallParts parts(run, comm);
        resnet_trainer(parts);
        INFO(
            "a run from step " << run.done << " to " << run.steps << ", " << run.epoch_steps
                               << " steps an epoch"
        );
        CHECK(parts.in_order());
        CHECK(parts.step() == std::max(run.done, run.steps));
        CHECK(after("tests", parts.tests(), ends(run)));
        CHECK(after("checkpoints", parts.saves(), ends(run)));
        INFO("weights, against one process with the data of all " << comm.size() << " ranks");
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
            INFO(steps << " steps; backward() adds to the gradients that are there");
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

TEST_CASE("resnet_trainer does nothing where no step is left") {
    trains({6, 6, 3}, {2});
    trains({4, 4, 3}, {2});
    trains({0, 0, 3}, {2});
    trains({7, 6, 3}, {1});
}

TEST_CASE("resnet_trainer is right on 11 ranks", "[many]") {
    trains({1, 4, 2}, {11});
}
