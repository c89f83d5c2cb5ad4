#include "course/gpu/device_buffer.hpp"

#include <utility>

#include "course/gpu/check.hpp"

namespace dist {

DeviceBuffer::DeviceBuffer(std::size_t n) : size_(n) {
    if (n > 0) {
        void* memory = nullptr;
        CUDA_CHECK(cudaMalloc(&memory, n * sizeof(float)));
        data_ = static_cast<float*>(memory);
    }
}

DeviceBuffer::DeviceBuffer(std::span<const float> host) : DeviceBuffer(host.size()) {
    CUDA_CHECK(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
    // CUDA has read the host's side now. It may still write the GPU's, and other streams do not wait for it.
    CUDA_CHECK(cudaStreamSynchronize(nullptr));
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

DeviceBuffer::~DeviceBuffer() {
    cudaFree(data_);
}

std::vector<float> DeviceBuffer::to_host() const {
    std::vector<float> host(size_);
    CUDA_CHECK(cudaMemcpy(host.data(), data_, span().size_bytes(), cudaMemcpyDeviceToHost));
    return host;
}

}  // namespace dist
