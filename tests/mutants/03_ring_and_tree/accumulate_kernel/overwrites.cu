// Takes what comes in for the result.
// state: fail in combines every element, for all lengths up to 1000
// says: it has to be combined with what is there
#include <algorithm>

#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"

namespace dist {
namespace {

__global__ void accumulate_elements(
    const float* in, float* accumulated, std::size_t n, ReduceOp op
) {
    const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
    const std::size_t me = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (std::size_t i = me; i < n; i += threads) {
        accumulated[i] = in[i];
    }
    static_cast<void>(op);
}

}  // namespace

void accumulate_kernel(
    DeviceSpan<const float> in, DeviceSpan<float> accumulated, ReduceOp op, cudaStream_t stream
) {
    expects(in.size() == accumulated.size(), "accumulate_kernel: both lengths must be the same");
    const std::size_t n = in.size();
    if (n == 0) {
        return;
    }
    const auto blocks = static_cast<unsigned>(std::min<std::size_t>((n + 255) / 256, 1024));
    accumulate_elements<<<blocks, 256, 0, stream>>>(in.data(), accumulated.data(), n, op);
    CUDA_CHECK(cudaGetLastError());
}

}  // namespace dist
