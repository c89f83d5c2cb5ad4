// Included before a .cu file that the host compiles: what nvcc provides. A kernel is a function that is
// called once for each thread, one after another, the last thread first: so a kernel whose threads
// wait for each other (__syncthreads) cannot be run here, and races do not show.
#pragma once

#include <math.h>  // NOLINT(modernize-deprecated-headers): kernels call fminf, as nvcc lets them

#include <cuda_runtime.h>

#include "tests/harness/gpu/stand_in/stream.hpp"
#include "tests/harness/harness.hpp"

inline dim3 gridDim;
inline dim3 blockDim;
inline uint3 blockIdx;
inline uint3 threadIdx;

namespace dist::stand_in {

/// True, or false and an error that cudaGetLastError says, as on a GPU: no empty grid, no block of more
/// than 1024 threads.
inline bool can_be_launched(dim3 grid, dim3 block) {
    const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
    const std::size_t threads = std::size_t{block.x} * block.y * block.z;
    const bool good = blocks > 0 && threads > 0 && threads <= 1024;
    if (!good) {
        failed(cudaErrorInvalidConfiguration);
    }
    return good;
}

template <class Kernel, class... Arguments>
void run_kernel(dim3 grid, dim3 block, Kernel kernel, Arguments... arguments) {
    const harness::CrashMeans hint(
        "a kernel touched memory outside of its spans. Does each thread compare its element's "
        "number with n?"
    );
    gridDim = grid;
    blockDim = block;
    for (blockIdx.z = grid.z; blockIdx.z-- > 0;) {
        for (blockIdx.y = grid.y; blockIdx.y-- > 0;) {
            for (blockIdx.x = grid.x; blockIdx.x-- > 0;) {
                for (threadIdx.z = block.z; threadIdx.z-- > 0;) {
                    for (threadIdx.y = block.y; threadIdx.y-- > 0;) {
                        for (threadIdx.x = block.x; threadIdx.x-- > 0;) {
                            kernel(arguments...);
                        }
                    }
                }
            }
        }
    }
}

/// kernel<<<grid, block, shared_bytes, stream>>>(arguments...), as compile_kernels.sh spells it.
template <class... Parameters>
auto launch(
    void (*kernel)(Parameters...),
    dim3 grid,
    dim3 block,
    std::size_t /*shared_bytes*/ = 0,
    cudaStream_t stream = nullptr
) {
    return [=](Parameters... arguments) {
        if (can_be_launched(grid, block)) {
            put(stream, [=] { run_kernel(grid, block, kernel, arguments...); });
        }
    };
}

}  // namespace dist::stand_in
