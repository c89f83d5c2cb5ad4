// A Reducer's life: what may be done with one, in any order, and what gradients hold after that on all ranks.
#pragma once

#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "course/runtime/seeded.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"
#include "tests/06_ddp/backward.hpp"
#include "tests/harness/words/lives.hpp"

namespace dist::harness {

/// A model under a Reducer, and beside it what the gradients hold: of each rank, of all parameters in a row. On
/// odd ranks matrices are laid out the other way round.
class ReducerLife {
  public:
    ReducerLife(const Communicator& comm, std::uint64_t draw) : comm_(comm), draw_(draw) {
        for (const auto& shape : kShapes) {
            at::Tensor parameter = at::full(shape, 1, at::kFloat);
            if (shape.size() == 2 && comm.rank() % 2 == 1) {
                parameter = at::full({shape[1], shape[0]}, 1, at::kFloat).t();
            }
            parameters_.push_back(parameter.requires_grad_());
        }
        for (int rank = 0; rank < comm.size(); ++rank) {
            held_.push_back(at::zeros({static_cast<std::int64_t>(count(parameters_))}));
        }
        plan_ = backwards(parameters_.size());
        const auto hook = [this, sum = all_reduce_hook(comm)](const at::Tensor& flat) {
            called_for_.push_back(flat.numel());
            is_on_this_thread_ = is_on_this_thread_ && std::this_thread::get_id() == thread_;
            return sum(flat);
        };
        reducer_.emplace(parameters_, limits_, hook, comm);
    }

    [[nodiscard]] bool is_prepared() const { return prepared_; }
    [[nodiscard]] bool can_prepare() const { return !prepared_ || !came_; }
    [[nodiscard]] bool can_run() const { return !prepared_ || !came_; }
    [[nodiscard]] bool can_finalize() const { return !prepared_ || came_; }

    Comparison throw_away() {
        forget_gradients(parameters_);
        std::ranges::for_each(held_, [](at::Tensor& all) { all = at::zeros_like(all); });
        return compared();
    }

    /// Gradients with gaps between their elements.
    Comparison move_elsewhere() {
        for (const at::Tensor& parameter : parameters_) {
            at::Tensor& gradient = parameter.mutable_grad();
            if (gradient.defined()) {
                gradient = at::stack({gradient, gradient.neg()}, -1).select(-1, 0);
            }
        }
        return compared();
    }

    Comparison prepare() {
        const long order = is_order_due() && comm_.rank() == 0 ? comm_.size() - 1 : 0;
        begin_pass(true);
        const Traffic traffic = record(comm_, [&] { reducer_->prepare_for_backward(); });
        if (traffic.counted && traffic.messages_sent != order) {
            return {
                false, "prepare_for_backward() sent " + counted(traffic.messages_sent, "message") +
                           ", and the order, where it is due, takes " + std::to_string(order)};
        }
        return compared();
    }

    /// Buckets that leave at once on one rank leave in backward on another: no life ends between these two.
    Comparison prepare_with_unused_and_run() {
        begin_pass(false);
        reducer_->prepare_for_backward(unused_on(comm_.rank()));
        return run();
    }

    /// Backward on every rank, without the parameters that are unused there.
    Comparison run() {
        ++salt_;
        for (int rank = 0; rank < comm_.size(); ++rank) {
            for (const std::size_t i : order_on(rank)) {
                of(held_[rank], i).add_(of(gradients_on(rank), i));
            }
        }
        const Sizes order = order_on(comm_.rank());
        at::Tensor loss = at::zeros({}, at::kFloat);
        for (auto i = order.rbegin(); i != order.rend(); ++i) {  // backward begins with the last
            loss = loss.add(parameters_[*i].mul(of(gradients_on(comm_.rank()), *i)).sum());
        }
        if (!order.empty()) {
            loss.backward();
        }
        came_ = prepared_;
        return prepared_ ? Comparison{} : compared();
    }

    Comparison finalize() {
        reducer_->finalize_backward();
        if (!prepared_) {
            return compared();
        }
        came_on_0_ = none_unused_ ? Sizes{} : unused_on(0);
        const Sizes order = order_on(0);
        came_on_0_.insert(came_on_0_.end(), order.begin(), order.end());
        prepared_ = false;
        const at::Tensor mean = at::stack(held_).sum(0).div(comm_.size());
        std::ranges::for_each(held_, [&](at::Tensor& all) { all = mean.clone(); });
        all_were_ready_ = true;
        const auto buckets = gradient_buckets(parameters_, plan_, limits_);
        std::vector<std::int64_t> lengths;
        for (const Bucket& bucket : buckets) {
            lengths.push_back(0);
            for (const std::size_t i : bucket) {
                lengths.back() += parameters_[i].numel();
            }
        }
        const std::string planned = text_of(buckets);
        const std::string got = text_of(reducer_->buckets());
        if (got != planned) {
            return {false, "the plan is " + got + ", where " + planned + " is right"};
        }
        if (called_for_ != lengths) {
            return {false, "the hook was not called once for each bucket, in their order"};
        }
        if (!is_on_this_thread_) {
            return {false, "the hook was called on another thread than backward's"};
        }
        return compared();
    }

  private:
    /// A part of a row as long as all parameters: parameter i's.
    [[nodiscard]] at::Tensor of(const at::Tensor& row, std::size_t i) const {
        const auto first = static_cast<std::ptrdiff_t>(i);
        const auto begin = count({parameters_.data(), parameters_.data() + first});
        return row.narrow(0, static_cast<std::int64_t>(begin), parameters_[i].numel())
            .view(parameters_[i].sizes());
    }

    [[nodiscard]] bool is_order_due() const { return all_were_ready_ && !planned_anew_; }

    /// Before a pass: the order of the pass before may be the new plan.
    void begin_pass(bool none_unused) {
        if (is_order_due()) {
            planned_anew_ = true;
            plan_ = came_on_0_;
        }
        prepared_ = true;
        came_ = false;
        all_were_ready_ = false;
        none_unused_ = none_unused;
        pass_ += 1;
        called_for_.clear();
    }

    /// In this pass: drawn, another set on each rank.
    [[nodiscard]] Sizes unused_on(int rank) const {
        Sizes unused;
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            if (seeded_bits(draw_ + pass_, 100 * static_cast<std::uint64_t>(rank) + i) % 2 == 0) {
                unused.push_back(i);
            }
        }
        return unused;
    }

    /// Of all parameters, in the backward that is running: p times whole numbers.
    [[nodiscard]] at::Tensor gradients_on(int rank) const {
        return filled(held_[0].sizes(), rank, salt_).mul(static_cast<float>(comm_.size()));
    }

    /// In which gradients come in this pass: another one on each rank.
    [[nodiscard]] Sizes order_on(int rank) const {
        Sizes order = backwards(parameters_.size());
        const auto first = static_cast<std::ptrdiff_t>((pass_ + rank) % order.size());
        std::rotate(order.begin(), order.begin() + first, order.end());
        if (prepared_ && !none_unused_) {
            const Sizes unused = unused_on(rank);
            std::erase_if(order, [&](std::size_t i) { return std::ranges::count(unused, i) > 0; });
        }
        return order;
    }

    /// Whether gradients hold on this rank what they have to; one that is not there holds zeros.
    [[nodiscard]] Comparison compared() const {
        std::vector<float> got;
        for (const at::Tensor& parameter : parameters_) {
            const at::Tensor& gradient = parameter.grad();
            const auto one = elements(gradient.defined() ? gradient : at::zeros_like(parameter));
            got.insert(got.end(), one.begin(), one.end());
        }
        return same(got, elements(held_[comm_.rank()]), kRounding);
    }

    const Communicator& comm_;
    std::uint64_t draw_;
    std::vector<at::Tensor> parameters_;
    Sizes limits_ = {16, 40};
    std::vector<at::Tensor> held_;
    Sizes plan_;       // the order that buckets are made of
    Sizes came_on_0_;  // in the pass before, on rank 0
    std::uint64_t salt_ = 0;
    std::uint64_t pass_ = 0;
    bool prepared_ = false;
    bool came_ = false;  // in this pass, backward has been
    bool none_unused_ = true;
    bool all_were_ready_ = false;  // in the pass before
    bool planned_anew_ = false;
    std::vector<std::int64_t> called_for_;  // lengths of buckets, in this pass
    std::thread::id thread_ = std::this_thread::get_id();
    bool is_on_this_thread_ = true;
    std::optional<Reducer> reducer_;
};

inline std::vector<Step> steps_of_a_reducer(const Communicator& comm, std::uint64_t draw) {
    const auto life = std::make_shared<ReducerLife>(comm, draw);
    const auto between = [=] { return !life->is_prepared(); };
    return {
        {"prepare", [=] { return life->can_prepare(); }, [=] { return life->prepare(); }},
        {"prepare with unused parameters and backward", between,
         [=] { return life->prepare_with_unused_and_run(); }},
        {"backward", [=] { return life->can_run(); }, [=] { return life->run(); }},
        {"finalize", [=] { return life->can_finalize(); }, [=] { return life->finalize(); }},
        {"gradients thrown away", between, [=] { return life->throw_away(); }},
        {"gradients with gaps", between, [=] { return life->move_elsewhere(); }}};
}

}  // namespace dist::harness
