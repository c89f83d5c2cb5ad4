#include "course/runtime/buffer.hpp"

#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace dist {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;
constexpr std::size_t kCacheLineBytes = 64;

// The last large block of this thread that was given back. The kernel clears every page that a
// process touches for the first time; in an all-reduce of 85 MB that would be a quarter of its
// time.
struct Spare {
    void* memory = nullptr;
    std::size_t bytes = 0;
    Spare() = default;
    Spare(const Spare&) = delete;
    Spare& operator=(const Spare&) = delete;
    ~Spare() { std::free(memory); }
};
thread_local Spare spare;

void* take(std::size_t bytes) {
    if (bytes <= spare.bytes && spare.bytes <= 2 * bytes) {
        spare.bytes = 0;
        return std::exchange(spare.memory, nullptr);
    }
    // less than a huge page is better off in the heap: memory that was touched before
    const bool huge = bytes % kHugePageBytes == 0;
    void* memory = std::aligned_alloc(huge ? kHugePageBytes : kCacheLineBytes, bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    if (huge) {
        madvise(memory, bytes, MADV_HUGEPAGE);
    }
    return memory;
}

void give_back(void* memory, std::size_t bytes) {
    if (bytes >= kHugePageBytes) {
        std::swap(memory, spare.memory);
        spare.bytes = bytes;
    }
    std::free(memory);
}

// The bytes of n floats, in whole huge pages or cache lines.
std::size_t capacity_bytes(std::size_t n) {
    const std::size_t bytes = n * sizeof(float);
    const std::size_t unit = bytes < kHugePageBytes ? kCacheLineBytes : kHugePageBytes;
    return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Buffer::Buffer(std::size_t n)
    : data_(n == 0 ? nullptr : static_cast<float*>(take(capacity_bytes(n)))), size_(n) {}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

Buffer::~Buffer() {
    if (data_ != nullptr) {
        give_back(data_, capacity_bytes(size_));
    }
}

}  // namespace dist
