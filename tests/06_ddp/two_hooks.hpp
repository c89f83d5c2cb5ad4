// Two hooks with error feedback in any order of calls, and what each has to keep.
#pragma once

#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exercises/06_ddp/compressed_gradients.hpp"
#include "tests/harness/words/lives.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

/// Two error feedback hooks, with copies, for three tensors; beside each pair of them its residuals on all ranks.
class TwoHooks {
  public:
    TwoHooks(const Communicator& comm, std::uint64_t draw) : comm_(comm), draw_(draw) {
        for (int i = 0; i < 2; ++i) {
            hooks_.push_back(error_feedback_hook(comm));
            lost_.emplace_back(3, zeros());
        }
        for (int i = 0; i < 3; ++i) {
            flats_.push_back(at::zeros({kLength}, at::kFloat));
        }
    }

    /// All ranks call this hook for this tensor.
    Comparison call(std::size_t hook, std::size_t flat) {
        const at::Tensor all = contributions().add_(lost_[hook][flat]);
        flats_[flat].copy_(contributions()[comm_.rank()]);
        ++calls_;
        const at::Tensor sent = rounded(all);
        lost_[hook][flat] = all.sub(sent);
        const CommHook copy = hooks_[hook];
        copy(flats_[flat]);
        return same(elements(flats_[flat]), elements(rounded(sent.sum(0))));
    }

    /// Another tensor in its place: residuals begin with zeros.
    Comparison make_anew(std::size_t flat) {
        flats_[flat] = at::zeros({kLength}, at::kFloat);
        for (auto& residuals : lost_) {
            residuals[flat] = zeros();
        }
        return {};
    }

  private:
    static constexpr std::int64_t kLength = 5;

    static at::Tensor rounded(const at::Tensor& floats) {
        return floats.to(at::kBFloat16).to(at::kFloat);
    }
    [[nodiscard]] at::Tensor zeros() const {
        return at::zeros({comm_.size(), kLength}, at::kFloat);
    }

    /// Of all ranks, in this call: whole numbers in units of 2^-9, which bfloat16 rounds.
    [[nodiscard]] at::Tensor contributions() const {
        std::vector<at::Tensor> rows;
        for (int rank = 0; rank < comm_.size(); ++rank) {
            rows.push_back(filled({kLength}, rank, draw_ + calls_).mul(0x1p-9).add(1));
        }
        return at::stack(rows);
    }

    const Communicator& comm_;
    std::uint64_t draw_;
    std::uint64_t calls_ = 0;
    std::vector<CommHook> hooks_;
    std::vector<at::Tensor> flats_;
    std::vector<std::vector<at::Tensor>> lost_;  // of each hook, for each tensor
};

inline std::vector<Step> steps_of_two_hooks(const Communicator& comm, std::uint64_t draw) {
    const auto life = std::make_shared<TwoHooks>(comm, draw);
    const auto always = [] { return true; };
    std::vector<Step> steps;
    for (const std::size_t flat : {0, 1, 2}) {
        const std::string which = " tensor " + std::to_string(flat);
        for (const std::size_t hook : {0, 1}) {
            const std::string name = "hook " + std::to_string(hook) + which;
            steps.push_back({name, always, [=] { return life->call(hook, flat); }});
        }
        steps.push_back({"a new" + which, always, [=] { return life->make_anew(flat); }});
    }
    return steps;
}

}  // namespace dist::harness
