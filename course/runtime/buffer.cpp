#include "course/runtime/buffer.hpp"

#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace dist {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;
constexpr std::size_t kCacheLineBytes = 64;

// The largest block that this thread gave back. The kernel clears every page that a process touches
// for the first time; in an all-reduce of 85 MB that would be a quarter of its time.
struct Spare {
    void* memory = nullptr;
    std::size_t bytes = 0;
    Spare() = default;
    Spare(const Spare&) = delete;
    Spare& operator=(const Spare&) = delete;
    ~Spare() { std::free(memory); }
};
thread_local Spare spare;

// The bytes of n floats, in whole huge pages or cache lines.
std::size_t capacity_bytes(std::size_t n) {
    const std::size_t bytes = n * sizeof(float);
    const std::size_t unit = bytes < kHugePageBytes ? kCacheLineBytes : kHugePageBytes;
    return (bytes + unit - 1) / unit * unit;
}

void* allocate(std::size_t bytes) {
    // less than a huge page is better off in the heap: memory that was touched before
    const bool huge = bytes >= kHugePageBytes;
    void* memory = std::aligned_alloc(huge ? kHugePageBytes : kCacheLineBytes, bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    if (huge) {
        madvise(memory, bytes, MADV_HUGEPAGE);
    }
    return memory;
}

}  // namespace

Buffer::Buffer(std::size_t n) : size_(n), capacity_bytes_(capacity_bytes(n)) {
    if (kHugePageBytes <= capacity_bytes_ && capacity_bytes_ <= spare.bytes) {
        data_ = static_cast<float*>(std::exchange(spare.memory, nullptr));
        capacity_bytes_ = std::exchange(spare.bytes, 0);
    } else if (n > 0) {
        data_ = static_cast<float*>(allocate(capacity_bytes_));
    }
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_bytes_(std::exchange(other.capacity_bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_bytes_, other.capacity_bytes_);
    return *this;
}

Buffer::~Buffer() {
    void* memory = data_;
    if (capacity_bytes_ >= kHugePageBytes && capacity_bytes_ > spare.bytes) {
        std::swap(memory, spare.memory);
        spare.bytes = capacity_bytes_;
    }
    std::free(memory);
}

}  // namespace dist
