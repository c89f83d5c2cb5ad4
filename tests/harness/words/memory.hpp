// Memory in tests: all that new and malloc hold counts, whether a tensor has it or not. For exercises that need LibTorch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "course/nn/memory.hpp"
#include "tests/harness/job/memory.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// As many bytes may be held beside tensors: what describes a tensor takes some hundred bytes, malloc fills large
/// blocks up to pages of 4096, and LibTorch keeps tables of what it was asked for first. What is tested has more.
inline constexpr long kDescriptions = 64 << 10;

/// What was held at a moment. Counting begins with the first. Made within on_ranks.
class MemoryBefore {
  public:
    MemoryBefore() {
        nn::count_memory();
        count_heap();
        tensors_ = nn::held_memory().total();
        beside_ = beside_tensors();
    }

    /// Bytes of tensors that have come since.
    [[nodiscard]] std::size_t tensors_since() const { return nn::held_memory().total() - tensors_; }

    /// Bytes of all kinds that have come since.
    [[nodiscard]] long all_since() const {
        return heap_bytes() - beside_ - static_cast<long>(tensors_);
    }

    /// Has no more come beside tensors than what describes them?
    [[nodiscard]] Comparison nothing_beside() const {
        const long beside = beside_tensors() - beside_;
        if (beside <= kDescriptions) {
            return {};
        }
        return {
            false, std::to_string(beside) +
                       " bytes are in vectors or strings, or from malloc: memory that is no "
                       "tensor counts as well"};
    }

    /// The most that was held since forget_peak(), beyond this: by tensors, or by all memory together where that is
    /// more than descriptions and scratch explain.
    ///
    /// scratch  bytes that a collective may have beside tensors while it runs.
    [[nodiscard]] std::size_t peak_since(std::size_t scratch = 0) const {
        const std::size_t tensors = nn::peak_memory().total() - tensors_;
        const long all = all_since() + heap_peak_bytes() - heap_bytes();
        const long explained = kDescriptions + static_cast<long>(scratch);
        return std::max(tensors, static_cast<std::size_t>(std::max(0L, all - explained)));
    }

  private:
    /// Bytes that are held by new and malloc, and are no tensor's.
    static long beside_tensors() {
        return heap_bytes() - static_cast<long>(nn::held_memory().total());
    }

    std::size_t tensors_ = 0;
    long beside_ = 0;
};

/// From here on the peak is looked for.
inline void forget_peak() {
    nn::forget_peak_memory();
    forget_heap_peak();
}

}  // namespace dist::harness
