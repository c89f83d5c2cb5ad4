#include "tests/harness/job/allocations.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "tests/harness/job/memory.hpp"
#include "tests/harness/job/over_fork.hpp"

namespace dist::harness {
namespace {

/// Its own memory comes from malloc: `new` would come here again.
template <class T>
struct Malloc {
    using value_type = T;
    Malloc() = default;
    template <class U>
    explicit Malloc(const Malloc<U>& /*other*/) {}
    T* allocate(std::size_t n) {
        void* block = std::malloc(n * sizeof(T));
        return block != nullptr ? static_cast<T*>(block) : throw std::bad_alloc();
    }
    void deallocate(T* block, std::size_t /*n*/) { std::free(block); }
    bool operator==(const Malloc& /*other*/) const { return true; }
};

struct Blocks {
    std::mutex lock;
    std::map<
        std::uintptr_t,
        std::size_t,
        std::less<>,
        Malloc<std::pair<const std::uintptr_t, std::size_t>>>
        length;  // by address
};

/// Never destroyed: memory is freed until the very end.
Blocks& blocks() {
    alignas(Blocks) static std::byte storage[sizeof(Blocks)];
    static auto* const all = new (storage) Blocks;
    return *all;
}

std::mutex& blocks_lock() {
    return blocks().lock;
}

std::uintptr_t address(const void* place) {
    return reinterpret_cast<std::uintptr_t>(place);
}

}  // namespace

void keep_blocks_over_fork() {
    keep_over_fork<blocks_lock>();
}

std::optional<std::size_t> room_at(const void* place) {
    const std::scoped_lock guard(blocks().lock);
    const auto after = blocks().length.upper_bound(address(place));
    if (after == blocks().length.begin()) {
        return std::nullopt;
    }
    const auto [begin, length] = *std::prev(after);
    const std::size_t at = address(place) - begin;
    return at < length ? std::optional(length - at) : std::nullopt;
}

#ifndef __SANITIZE_ADDRESS__
namespace {

std::atomic<bool> following = false;

void note(void* block, std::size_t length) {
    if (!following.load(std::memory_order_relaxed)) {
        return;
    }
    const Uncounted list;
    const std::scoped_lock guard(blocks().lock);
    blocks().length[address(block)] = length;
}

void forget(void* block) {
    if (!following.load(std::memory_order_relaxed)) {
        return;
    }
    const Uncounted list;
    const std::scoped_lock guard(blocks().lock);
    blocks().length.erase(address(block));
}

}  // namespace

void follow_blocks() {
    following = true;
}
#else
void follow_blocks() {}
#endif

}  // namespace dist::harness

#ifndef __SANITIZE_ADDRESS__
void* operator new(std::size_t length) {
    void* block = std::malloc(length > 0 ? length : 1);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    dist::harness::note(block, length);
    return block;
}
void operator delete(void* block) noexcept {
    if (block != nullptr) {
        dist::harness::forget(block);
        std::free(block);
    }
}
void operator delete(void* block, std::size_t /*length*/) noexcept {
    operator delete(block);
}
#endif
