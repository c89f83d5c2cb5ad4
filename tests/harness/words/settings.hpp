// What a call has to leave as it was, also when it throws: autograd's mode, and what tensors are to autograd.
#pragma once

#include <c10/core/GradMode.h>
#include <string>
#include <utility>
#include <vector>

#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/tensors.hpp"

namespace dist::harness {

/// Notes them when it is made.
class Settings {
  public:
    explicit Settings(std::vector<at::Tensor> tensors = {}) : tensors_(std::move(tensors)) {
        for (const at::Tensor& tensor : tensors_) {
            flags_.push_back(flags_of(tensor));
        }
    }

    /// Whether all are what they were; otherwise the first that is not.
    [[nodiscard]] Comparison unchanged() const {
        if (c10::GradMode::is_enabled() != records_) {
            return {false, std::string("autograd is left ") + (records_ ? "off" : "on")};
        }
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            const std::string now = flags_of(tensors_[i]);
            if (now != flags_[i]) {
                return {
                    false, "tensor " + std::to_string(i) + " was " + flags_[i] + ", and is " + now};
            }
        }
        return {};
    }

  private:
    static std::string flags_of(const at::Tensor& tensor) {
        return std::string(tensor.is_leaf() ? "a leaf" : "no leaf") +
               (tensor.requires_grad() ? " that requires a gradient" : " that requires no gradient"
               );
    }

    std::vector<at::Tensor> tensors_;
    std::vector<std::string> flags_;
    bool records_ = c10::GradMode::is_enabled();
};

}  // namespace dist::harness
