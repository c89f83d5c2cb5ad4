#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"

#include <algorithm>

namespace dist {
namespace {

constexpr std::size_t kThreads = 256;  // of one block
constexpr std::size_t kBlocks = 1024;  // at most: enough to keep any GPU busy

__device__ float combine(float a, float b, ReduceOp op) {
    switch (op) {
        case ReduceOp::product:
            return a * b;
        case ReduceOp::min:
            return b < a ? b : a;
        case ReduceOp::max:
            return a < b ? b : a;
        default:
            return a + b;
    }
}

// Thread k of t takes the elements k, k + t, k + 2t, ...: right for every n, whatever was launched.
__global__ void accumulate_elements(
    const float* in, float* accumulated, std::size_t n, ReduceOp op
) {
    const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
    const std::size_t me = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (std::size_t i = me; i < n; i += threads) {
        accumulated[i] = combine(accumulated[i], in[i], op);
    }
}

}  // namespace

void accumulate_kernel(
    DeviceSpan<const float> in, DeviceSpan<float> accumulated, ReduceOp op, cudaStream_t stream
) {
    expects(in.size() == accumulated.size(), "accumulate_kernel: both lengths must be the same");
    const std::size_t n = in.size();
    if (n == 0) {
        return;  // a launch of no blocks is an error
    }
    const auto blocks = static_cast<unsigned>(std::min((n + kThreads - 1) / kThreads, kBlocks));
    accumulate_elements<<<blocks, kThreads, 0, stream>>>(in.data(), accumulated.data(), n, op);
    CUDA_CHECK(cudaGetLastError());
}

}  // namespace dist
