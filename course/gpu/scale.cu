#include "course/gpu/scale.hpp"

#include <algorithm>

#include "course/gpu/check.hpp"

namespace dist {
namespace {

constexpr std::size_t kThreads = 256;  // of one block
constexpr std::size_t kBlocks = 1024;  // at most: enough to keep any GPU busy

// Each thread takes every (number of threads)th element, from its own number on.
__global__ void scale_elements(float* data, std::size_t n, float factor) {
    const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
    const std::size_t me = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (std::size_t i = me; i < n; i += threads) {
        data[i] *= factor;
    }
}

}  // namespace

void scale(DeviceSpan<float> data, float factor, cudaStream_t stream) {
    const std::size_t n = data.size();
    if (n == 0) {
        return;  // a launch of no blocks is an error
    }
    const std::size_t blocks = std::min((n + kThreads - 1) / kThreads, kBlocks);
    scale_elements<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(data.data(), n, factor);
    CUDA_CHECK(cudaGetLastError());
}

}  // namespace dist
