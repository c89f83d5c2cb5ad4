// Buffers of simulated ranks: thousands in one process. Those of 2 MiB and more share their pages, and what is written
// into them is lost.
#include <new>
#include <smpi/smpi.h>
#include <utility>

#include "course/runtime/buffer.hpp"

namespace dist {
namespace {

constexpr std::size_t kSharedFromBytes = std::size_t{2} << 20U;

}  // namespace

Buffer::Buffer(std::size_t n) : size_(n), capacity_bytes_(n * sizeof(float)) {
    if (capacity_bytes_ >= kSharedFromBytes) {
        data_ = static_cast<float*>(SMPI_SHARED_MALLOC(capacity_bytes_));
    } else if (n > 0) {
        data_ = static_cast<float*>(::operator new(capacity_bytes_));
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
    if (capacity_bytes_ >= kSharedFromBytes) {
        SMPI_SHARED_FREE(data_);
    } else {
        ::operator delete(data_);
    }
}

}  // namespace dist
