// A model in stages, trained by run_pipeline and beside it in one process.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exercises/08_model_parallel/pipeline.hpp"
#include "exercises/08_model_parallel/pipeline_messages.hpp"
#include "exercises/08_model_parallel/pipeline_schedule.hpp"
#include "tests/08_model_parallel/schedule_rows.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

using Tensors = std::vector<at::Tensor>;

/// A stage, and the leaves that it reads.
struct TestedStage {
    std::function<at::Tensor(const at::Tensor& x)> forward;
    std::vector<std::int64_t> input_shape;
    Tensors leaves;
};

/// A layer with tanh, of three rows.
inline TestedStage dense(std::int64_t from, std::int64_t to, std::uint64_t salt) {
    const at::Tensor w = filled({to, from}, 0, salt).div(16).requires_grad_();
    const at::Tensor b = filled({to}, 0, salt + 1).div(16).requires_grad_();
    const auto forward = [=](const at::Tensor& x) { return at::linear(x, w, b).tanh(); };
    return {forward, {3, from}, {w, b}};
}

/// A layer of whole numbers, as many rows and columns as it is told: sums are exact in any order.
inline TestedStage whole(std::int64_t columns, std::uint64_t salt) {
    const at::Tensor w = filled({columns, columns}, 0, salt).sign().requires_grad_();
    const auto forward = [=](const at::Tensor& x) { return at::linear(x, w).relu(); };
    return {forward, {columns, columns}, {w}};
}

/// A loss whose gradient differs in each element, and in each micro-batch.
inline at::Tensor loss_of(const at::Tensor& y, int i) {
    return y.mul(filled(y.sizes(), i, 100)).sum();
}

/// Stages and data. Two that are made alike begin alike.
struct StagedModel {
    std::vector<TestedStage> stages;
    std::function<at::Tensor(const at::Tensor& y, int i)> loss = loss_of;
    std::int64_t words = 0;  // of a vocabulary; 0: inputs are numbers

    /// Of every micro-batch.
    [[nodiscard]] Tensors inputs(int m) const {
        Tensors all;
        for (int i = 0; i < m; ++i) {
            const at::Tensor numbers = filled(stages[0].input_shape, i, 50);
            all.push_back(words == 0 ? numbers : numbers.abs().remainder(words).to(at::kLong));
        }
        return all;
    }

    /// In one process: micro-batches in this order, of m. Returns the losses.
    [[nodiscard]] Tensors train_alone(const std::vector<int>& order, int m) const {
        Tensors losses(static_cast<std::size_t>(m));
        for (const int i : order) {
            at::Tensor x = inputs(m)[static_cast<std::size_t>(i)];
            for (const TestedStage& stage : stages) {
                x = stage.forward(x);
            }
            const at::Tensor one = loss(x, i);
            losses[static_cast<std::size_t>(i)] = one.detach();
            if (one.requires_grad()) {
                one.div(m).backward();
            }
        }
        return losses;
    }

    /// The stages that a rank has by these rows.
    [[nodiscard]] static std::set<int> stages_in(const Row& row) {
        std::set<int> numbers;
        for (const Action& action : row) {
            numbers.insert(action.stage);
        }
        return numbers;
    }

    /// What a rank gives to run_pipeline: the last stage first, and no shape for stage 0.
    [[nodiscard]] std::vector<PipelineStage> stages_for(const Row& row) const {
        std::vector<PipelineStage> mine;
        for (const int number : stages_in(row)) {
            const TestedStage& stage = stages[static_cast<std::size_t>(number)];
            const auto shape = number == 0 ? std::vector<std::int64_t>() : stage.input_shape;
            mine.insert(mine.begin(), {number, stage.forward, shape});
        }
        return mine;
    }

    [[nodiscard]] Tensors train(const Schedule& rows, int m, const Communicator& comm) const {
        const Row& row = rows[static_cast<std::size_t>(comm.rank())];
        const Tensors first = stages_in(row).contains(0) ? inputs(m) : Tensors{};
        const auto as_before = as_now(first);
        const Settings settings;
        const Tensors losses = run_pipeline(rows, stages_for(row), first, loss, comm);
        const Comparison settings_unchanged = settings.unchanged();
        const Comparison inputs_unchanged = as_before();
        CHECK(settings_unchanged);
        CHECK(inputs_unchanged);
        return losses;
    }
};

/// So many layers, each of one column more.
inline StagedModel layers(int n, std::uint64_t salt = 0) {
    StagedModel model;
    for (int k = 0; k < n; ++k) {
        model.stages.push_back(dense(4 + k, 5 + k, salt + 10 * static_cast<std::uint64_t>(k)));
    }
    return model;
}

inline std::vector<int> in_order(int m) {
    std::vector<int> order(static_cast<std::size_t>(m));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

/// What mistakes would leave: the same model, trained otherwise.
using Suspect = std::pair<StagedModel, std::string>;

/// Whether the leaves of this rank's stages have the gradients of `alone`, to the bit. A leaf that
/// no gradient came to in one process may have zeros.
inline void has_gradients_of(
    const StagedModel& mine,
    const StagedModel& alone,
    const Row& row,
    int m,
    const std::vector<Suspect>& suspects = {}
) {
    for (const int number : StagedModel::stages_in(row)) {
        const auto k = static_cast<std::size_t>(number);
        for (std::size_t j = 0; j < mine.stages[k].leaves.size(); ++j) {
            const at::Tensor leaf = alone.stages[k].leaves[j];
            at::Tensor expected = leaf.grad();
            std::vector<std::pair<at::Tensor, std::string>> suspicions;
            if (expected.defined()) {
                suspicions = {
                    {expected.mul(m), "that is m times as much: the gradient is that of the mean"},
                    {expected.div(m), "that is divided by m twice"},
                    {at::zeros_like(expected),
                     "those are zeros: does what arrives require a gradient in the next stage?"}};
                for (const auto& [model, sentence] : suspects) {
                    suspicions.emplace_back(model.stages[k].leaves[j].grad(), sentence);
                }
            } else if (leaf.requires_grad() && mine.stages[k].leaves[j].grad().defined()) {
                expected = at::zeros_like(leaf);
            }
            INFO("the gradient of leaf " << j << " of stage " << number);
            CHECK(identical(mine.stages[k].leaves[j].grad(), expected, suspicions));
        }
    }
}

/// What run_pipeline returns, and all gradients, are those of one process that takes micro-batches
/// in this order.
inline void trains_as_one(
    const Schedule& rows,
    const std::vector<int>& order,
    const std::function<StagedModel()>& make,
    const Communicator& comm
) {
    const int m = static_cast<int>(order.size());
    const Row& row = rows[static_cast<std::size_t>(comm.rank())];
    const StagedModel mine = make();
    const StagedModel alone = make();
    const StagedModel last = make();
    const Tensors expected = alone.train_alone(order, m);
    (void)last.train_alone({order.back()}, m);
    const c10::AutoGradMode around(m % 2 == 0);  // a run trains whatever the caller's mode is
    const Tensors losses = mine.train(rows, m, comm);
    const int last_stage = static_cast<int>(mine.stages.size()) - 1;
    INFO("rank " << comm.rank() << " of " << comm.size() << ": " << text_of_row(row));
    const bool has_losses = StagedModel::stages_in(row).contains(last_stage);
    REQUIRE(losses.size() == (has_losses ? expected.size() : 0));
    for (std::size_t i = 0; i < losses.size(); ++i) {
        INFO("what loss has returned for micro-batch " << i);
        CHECK(identical(losses[i], expected[i], {{expected[i].div(m), "that is divided by m"}}));
        CHECK_FALSE(losses[i].requires_grad());
    }
    has_gradients_of(mine, alone, row, m, {{last, "that is of the last micro-batch alone"}});
}

/// All kinds of schedule on p ranks. Interleaved needs groups of equally many micro-batches.
inline std::vector<PipelineCase> schedules(int p, const std::vector<int>& micro_batches) {
    std::vector<PipelineCase> all;
    for (const int m : micro_batches) {
        all.push_back({ScheduleKind::gpipe, p, m, 1});
        all.push_back({ScheduleKind::one_forward_one_backward, p, m, 1});
        all.push_back({ScheduleKind::zero_bubble, p, m, 1});
        if (m % std::max(1, m / p) == 0) {
            all.push_back({ScheduleKind::interleaved, p, m, 2});
        }
    }
    return all;
}

inline Schedule rows_of(const PipelineCase& one) {
    return insert_messages(pipeline_schedule(one.kind, one.p, one.m, one.v));
}

/// F alone, for evaluation.
inline Schedule forward_rows(int p, int m, int v = 1) {
    const ScheduleKind kind = v == 1 ? ScheduleKind::gpipe : ScheduleKind::interleaved;
    Schedule rows = pipeline_schedule(kind, p, m, v);
    for (Row& row : rows) {
        std::erase_if(row, [](const Action& action) { return action.kind != ActionKind::forward; });
    }
    return insert_messages(rows);
}

}  // namespace dist::harness
