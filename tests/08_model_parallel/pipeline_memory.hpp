// What a rank of a pipeline may hold, at each computation of its row.
#pragma once

#include <ATen/ops/ones.h>
#include <memory>

#include "tests/08_model_parallel/pipelined.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/memory.hpp"

namespace dist::harness {

inline constexpr std::int64_t kActivation = 4000;  // floats of an input or output
inline constexpr std::ptrdiff_t kInside = 16;  // as many more are what a stage keeps for backward

/// The most that may be held when the action at `place` begins, in activations. A micro-batch in
/// flight has its input, which of stage 0 is the caller's, and 16 more; from I to W its input and a
/// gradient. Backward may have two more in its hands.
inline std::size_t most_held(const Row& row, std::size_t place, int last_stage) {
    using enum ActionKind;
    std::ptrdiff_t held = 0;
    std::set<std::pair<int, ActionKind>> sent;
    for (const auto& [stage, kind, i] :
         Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(place))) {
        const std::ptrdiff_t gradient = stage == last_stage ? 0 : 1;  // of the output
        switch (kind) {
            case recv_f:
            case recv_b:
                ++held;
                break;
            case send_f:
            case send_b:
                --held;
                sent.insert({stage, kind});
                break;
            case forward:
                held += kInside + gradient;  // its input was there
                break;
            case backward:
                held -= kInside + gradient;  // its input's gradient comes
                break;
            case input_gradient:
                held -= stage == 0 ? 0 : kInside + gradient - 2;
                break;
            case weight_gradient:
                held -= stage == 0 ? kInside + gradient : 2;
                break;
        }
    }
    return static_cast<std::size_t>(held) + sent.size() + 2;
}

/// Notes what is held whenever a stage is called, and whenever its backward begins.
struct Watch {
    Row row;
    int last_stage = 0;
    std::shared_ptr<MemoryBefore> before = {};
    std::map<int, std::vector<int>> calls = {};  // of each stage: micro-batches to come
    std::size_t most_inside = 0;
    Comparison all = {};

    static constexpr std::size_t bytes() { return sizeof(float) * kActivation; }

    void look(const Action& action) {
        const auto at = static_cast<std::size_t>(std::ranges::find(row, action) - row.begin());
        const std::size_t most = most_held(row, at, last_stage);
        const std::size_t held = before->tensors_since();
        if (all && held > most * bytes() + 1000) {
            all = {
                false, "when " + cell(action) + " begins " + std::to_string(held) +
                           " bytes are held, where " + std::to_string(most) + " activations have " +
                           std::to_string(most * bytes())};
        }
    }
};

/// A stage that keeps 16 times its input for backward; of that, W needs the input alone.
inline TestedStage heavy(int stage, const std::shared_ptr<Watch>& watch) {
    const at::Tensor w = at::ones({}).requires_grad_();
    const at::Tensor inside = at::ones({kInside, 1});
    const auto forward = [=](const at::Tensor& x) {
        using enum ActionKind;
        std::vector<int>& to_come = watch->calls[stage];
        const int i = to_come.front();
        to_come.erase(to_come.begin());
        watch->look({stage, ActionKind::forward, i});
        const at::Tensor h = x.mul(w).unsqueeze(0).mul(inside).tanh();
        const std::size_t held = watch->before->tensors_since() / Watch::bytes();
        watch->most_inside = std::max(watch->most_inside, held / std::size_t{kInside});
        at::Tensor y = h.sum(0);
        if (y.requires_grad()) {
            y.register_hook([watch, stage, i](const at::Tensor&) {
                const Action b = {stage, backward, i};
                const Action split = {stage, stage == 0 ? weight_gradient : input_gradient, i};
                watch->look(std::ranges::find(watch->row, b) != watch->row.end() ? b : split);
            });
        }
        return y;
    };
    return {forward, {kActivation}, {w}};
}

/// How many micro-batches, or chunks of them, have all that their backward needs.
inline std::size_t most_in_flight(const PipelineCase& one, const Schedule& rows, int s) {
    const int most = one.kind == ScheduleKind::gpipe ? one.m : std::min(one.p - s, one.m);
    const auto chunks = static_cast<std::size_t>(s);
    return static_cast<std::size_t>(
        one.kind == ScheduleKind::interleaved ? simulate_schedule(rows).most_in_flight[chunks]
                                              : most
    );
}

/// What is held at each computation, how many micro-batches are in flight, and what is left.
inline void holds_what_is_in_flight(const PipelineCase& one, const Communicator& comm) {
    const Schedule rows = rows_of(one);
    const Row& row = rows[static_cast<std::size_t>(comm.rank())];
    const auto watch = std::make_shared<Watch>(Watch{row, one.p * one.v - 1});
    StagedModel model;
    for (int k = 0; k < one.p * one.v; ++k) {
        model.stages.push_back(heavy(k, watch));
    }
    for (const auto& [stage, kind, i] : row) {
        if (kind == ActionKind::forward) {
            watch->calls[stage].push_back(i);
        }
    }
    const std::vector<PipelineStage> stages = model.stages_for(row);
    const Tensors inputs = comm.rank() == 0 ? model.inputs(one.m) : Tensors{};
    const auto loss = [](const at::Tensor& y, int /*i*/) { return y.sum(); };
    watch->before = std::make_shared<MemoryBefore>();
    const Tensors losses = run_pipeline(rows, stages, inputs, loss, comm);
    const std::size_t left = watch->before->tensors_since();
    const Comparison beside = watch->before->nothing_beside();
    INFO(text_of(one) << "; an activation has " << Watch::bytes() << " bytes");
    INFO("rank " << comm.rank() << ": " << text_of_row(row));
    {
        INFO("micro-batches that have all that their backward needs, at most");
        CHECK(watch->most_inside == most_in_flight(one, rows, comm.rank()));
    }
    CHECK(watch->all);
    INFO("afterwards: a gradient of each stage's one weight, and losses");
    CHECK(same_bytes(left, sizeof(float) * (stages.size() + losses.size())));
    CHECK(beside);
}

}  // namespace dist::harness
