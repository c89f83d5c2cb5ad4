// Counts what LibTorch multiplies.
#pragma once

#include <ATen/core/Tensor.h>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tests/08_model_parallel/record_function.hpp"

namespace dist::harness {

/// While it lives, counts the multiplications of all matrix products of this rank, on any thread.
class Multiplications {
  public:
    Multiplications() {
        counted() = 0;
        handle_ = at::addGlobalCallback(
            at::RecordFunctionCallback(begins).needsInputs(true).scopes({at::RecordScope::FUNCTION})
        );
    }
    ~Multiplications() { at::removeCallback(handle_); }
    Multiplications(const Multiplications&) = delete;
    Multiplications& operator=(const Multiplications&) = delete;

    /// Since it was made, or since the last call.
    [[nodiscard]] std::int64_t taken() const { return counted().exchange(0); }

  private:
    static std::atomic<std::int64_t>& counted() {
        static std::atomic<std::int64_t> one = 0;
        return one;
    }

    /// All other products end in one of these four.
    static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& call) {
        const std::string_view name = call.name();
        const bool adds = name == "aten::baddbmm" || name == "aten::addmm";
        if (adds || name == "aten::bmm" || name == "aten::mm") {
            const auto inputs = call.inputs();
            const at::Tensor left = inputs[adds ? 1 : 0].toTensor();
            const at::Tensor right = inputs[adds ? 2 : 1].toTensor();
            counted() += left.numel() * right.size(-1);
        }
        return nullptr;
    }

    at::CallbackHandle handle_ = 0;
};

}  // namespace dist::harness
