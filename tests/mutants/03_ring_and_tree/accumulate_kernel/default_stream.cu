// Launched in the default stream, which knows nothing of the one it was given.
// state: fail
// says: is the kernel in the stream that was given?
#include <algorithm>

#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"

namespace dist {
namespace {

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
        return;
    }
    const auto blocks = static_cast<unsigned>(std::min<std::size_t>((n + 255) / 256, 1024));
    accumulate_elements<<<blocks, 256>>>(in.data(), accumulated.data(), n, op);
    static_cast<void>(stream);
    CUDA_CHECK(cudaGetLastError());
}

}  // namespace dist
