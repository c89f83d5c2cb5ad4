// Memory of a GPU, borrowed: what std::span is for memory of the host.
#pragma once

#include <cstddef>
#include <type_traits>

namespace dist {

/// `size()` elements of the GPU's memory, from the address `data()` on. Only kernels, copies and NCCL
/// can follow that address: there is no operator[] and no iterator, so that host code cannot read
/// what it does not have.
///
/// It borrows: whoever made the memory keeps it until all work that uses it has ended, which is
/// later than the call that asked for the work.
template <class T>
class DeviceSpan {
  public:
    DeviceSpan() = default;
    DeviceSpan(T* data, std::size_t size) : data_(data), size_(size) {}

    /// DeviceSpan<float> where DeviceSpan<const float> is wanted.
    template <class U>
    requires std::is_convertible_v<U (*)[], T (*)[]> DeviceSpan(DeviceSpan<U> other
    )  // NOLINT(google-explicit-constructor): as for std::span
        : data_(other.data()), size_(other.size()) {}

    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t size_bytes() const { return size_ * sizeof(T); }

    /// `n` elements from `begin` on; begin + n <= size().
    [[nodiscard]] DeviceSpan subspan(std::size_t begin, std::size_t n) const {
        return {data_ + begin, n};
    }
    /// The first `n` elements; n <= size().
    [[nodiscard]] DeviceSpan first(std::size_t n) const { return {data_, n}; }

  private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace dist
