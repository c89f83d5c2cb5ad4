#include "course/nn/memory.hpp"

#include <c10/core/CPUAllocator.h>
#include <mutex>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <torch/version.h>

namespace dist::nn {

namespace {

thread_local MemoryKind kind_of_now = MemoryKind::other;

/// Memory that was lent to a tensor.
struct Block {
    at::DataPtr memory;
    std::size_t bytes;
    MemoryKind kind;
};

struct Count {
    std::mutex guard;
    MemoryBytes held;
    MemoryBytes peak;
    std::unordered_map<void*, Block> blocks;
    std::function<void(const MemoryBytes&)> told;

    void tell() const {
        if (told) {
            told(held);
        }
    }
};

Count& count() {
    static auto* const all = new Count;  // tensors may outlive everything else
    return *all;
}

void give_back(void* memory) {
    const std::scoped_lock guard(count().guard);
    const auto block = count().blocks.extract(memory);
    if (!block.empty()) {
        count().held.of_kind[static_cast<std::size_t>(block.mapped().kind)] -= block.mapped().bytes;
        count().tell();
    }
}

/// LibTorch's raw_allocate() asks for a context that is the memory itself.
at::DataPtr lend(c10::Allocator& from, std::size_t bytes) {
    Block block{from.allocate(bytes), bytes, kind_of_now};
    void* const memory = block.memory.get();
    if (memory == nullptr) {
        return {nullptr, at::kCPU};
    }
    const std::scoped_lock guard(count().guard);
    MemoryBytes& held = count().held;
    held.of_kind[static_cast<std::size_t>(kind_of_now)] += bytes;
    if (held.total() > count().peak.total()) {
        count().peak = held;
    }
    count().blocks.emplace(memory, std::move(block));
    count().tell();
    return {memory, memory, give_back, at::kCPU};
}

class CountingAllocator final : public c10::Allocator {
  public:
    explicit CountingAllocator(c10::Allocator& from) : from_(from) {}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
    at::DataPtr allocate(std::size_t bytes) override {
        return lend(from_, bytes);
    }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }
#else
    at::DataPtr allocate(std::size_t bytes) const override {
        return lend(from_, bytes);
    }
#endif

    at::DeleterFnPtr raw_deleter() const override {
        return give_back;
    }

  private:
    c10::Allocator& from_;
};

}  // namespace

const char* name(MemoryKind kind) {
    constexpr std::array kNames = {"other", "parameters", "gradients", "optimizer", "activations"};
    static_assert(kNames.size() == kMemoryKinds);
    return kNames[static_cast<std::size_t>(kind)];
}

std::size_t MemoryBytes::total() const {
    return std::accumulate(of_kind.begin(), of_kind.end(), std::size_t{0});
}

MemoryScope::MemoryScope(MemoryKind kind) : outer_(std::exchange(kind_of_now, kind)) {}

MemoryScope::~MemoryScope() {
    kind_of_now = outer_;
}

void count_memory() {
    static std::once_flag once;
    std::call_once(once, [] {
        constexpr std::uint8_t kAboveAll = 255;
        c10::SetCPUAllocator(new CountingAllocator(*c10::GetCPUAllocator()), kAboveAll);
    });
}

MemoryBytes held_memory() {
    const std::scoped_lock guard(count().guard);
    return count().held;
}

MemoryBytes peak_memory() {
    const std::scoped_lock guard(count().guard);
    return count().peak;
}

void on_memory_change(std::function<void(const MemoryBytes& held)> told) {
    const std::scoped_lock guard(count().guard);
    count().told = std::move(told);
}

void forget_peak_memory() {
    const std::scoped_lock guard(count().guard);
    count().peak = count().held;
}

}  // namespace dist::nn
