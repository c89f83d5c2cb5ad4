// Watches LibTorch compute: tells when it has made a tensor of one number of elements from one of another.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "tests/08_model_parallel/record_function.hpp"

namespace dist::harness {

/// While it lives, calls a function the first time that an operator has made a tensor of `to` elements from others, of
/// which one has `from`; on the thread that computes, before it goes on. Choose sizes that nothing else has.
class WhenComputed {
  public:
    WhenComputed(std::int64_t from, std::int64_t to, std::function<void()> then)
        : from_(from), to_(to), then_(std::move(then)) {
        watching() = this;
        handle_ = at::addGlobalCallback(at::RecordFunctionCallback(begins, ends)
                                            .needsInputs(true)
                                            .needsOutputs(true)
                                            .scopes({at::RecordScope::FUNCTION}));
    }
    ~WhenComputed() {
        at::removeCallback(handle_);
        watching() = nullptr;
    }
    WhenComputed(const WhenComputed&) = delete;
    WhenComputed& operator=(const WhenComputed&) = delete;

    /// Whether that has happened.
    [[nodiscard]] bool happened() const { return happened_; }

  private:
    struct Takes : at::ObserverContext {};

    static WhenComputed*& watching() {
        static WhenComputed* one = nullptr;
        return one;
    }

    static bool one_has(const auto& values, std::int64_t n) {
        for (const c10::IValue& value : values) {
            if (value.isTensor() && value.toTensor().defined() && value.toTensor().numel() == n) {
                return true;
            }
        }
        return false;
    }

    /// Inputs are there when an operator begins, outputs when it ends: what is returned here comes to ends().
    static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& call) {
        const bool takes = watching() != nullptr && one_has(call.inputs(), watching()->from_);
        return takes ? std::make_unique<Takes>() : nullptr;
    }

    static void ends(const at::RecordFunction& call, at::ObserverContext* takes) {
        WhenComputed* const it = watching();
        if (it != nullptr && takes != nullptr && one_has(call.outputs(), it->to_) &&
            !std::exchange(it->happened_, true)) {
            try {
                it->then_();
            } catch (...
            ) {  // the test has been stopped, and the next message says so: LibTorch would log it
            }
        }
    }

    std::int64_t from_;
    std::int64_t to_;
    std::function<void()> then_;
    bool happened_ = false;
    at::CallbackHandle handle_ = 0;
};

}  // namespace dist::harness
