#include "course/runtime/buffer.hpp"

#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace dist {

Buffer::Buffer(std::size_t n) : size_(n) {
    if (n == 0) {
        return;
    }
    // less than a huge page is better off in the heap: memory that was touched before
    constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;
    constexpr std::size_t kCacheLineBytes = 64;
    const std::size_t alignment =
        n * sizeof(float) < kHugePageBytes ? kCacheLineBytes : kHugePageBytes;
    const std::size_t bytes = (n * sizeof(float) + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    if (alignment == kHugePageBytes) {
        madvise(memory, bytes, MADV_HUGEPAGE);
    }
    data_ = static_cast<float*>(memory);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

Buffer::~Buffer() {
    std::free(data_);
}

}  // namespace dist
