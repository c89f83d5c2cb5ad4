// Large buffers on huge pages: fewer page faults, so that a benchmark measures the algorithm.
#pragma once

#include <cstddef>
#include <span>

namespace dist {

/// `n` floats of no particular value. From 2 MiB on they are aligned to 2 MiB, and the kernel is
/// asked to back them by huge pages (madvise); it need not obey. The memory of the last such buffer
/// is kept for the next of about its size, as caching allocators do.
///
/// Errors  std::bad_alloc if there is no memory.
class Buffer {
  public:
    explicit Buffer(std::size_t n);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] float* data() { return data_; }
    [[nodiscard]] const float* data() const { return data_; }
    [[nodiscard]] std::span<float> span() { return {data_, size_}; }
    [[nodiscard]] std::span<const float> span() const { return {data_, size_}; }

  private:
    float* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace dist
