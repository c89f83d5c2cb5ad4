// Large buffers on huge pages: fewer page faults, so that a benchmark measures the algorithm.
#pragma once

#include <cstddef>
#include <span>

namespace dist {

/// `n` floats of no particular value. From 2 MiB on they are aligned to 2 MiB, and the kernel is
/// asked to back them by huge pages (madvise); it need not obey. Each thread keeps the memory of the
/// largest such buffer for the next that fits, as caching allocators do.
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
    std::size_t capacity_bytes_ = 0;  // of the memory, whose rest a smaller buffer leaves
};

}  // namespace dist
