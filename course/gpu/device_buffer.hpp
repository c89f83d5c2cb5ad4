// Memory of a GPU, owned: RAII over cudaMalloc.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "course/gpu/device_span.hpp"

namespace dist {

/// `n` floats on the current GPU.
///
/// Errors  dist::Error if the GPU has no memory left, or a copy fails.
class DeviceBuffer {
  public:
    /// Of no particular value.
    explicit DeviceBuffer(std::size_t n);
    /// A copy of `host`; there when the constructor returns.
    explicit DeviceBuffer(std::span<const float> host);
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer();

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] DeviceSpan<float> span() const { return {data_, size_}; }

    /// What the memory holds now. Waits for no stream of Stream's kind: end the work first.
    [[nodiscard]] std::vector<float> to_host() const;

  private:
    float* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace dist
