// CUDA_CHECK and NCCL_CHECK: as MPI_CHECK, for code that runs on a GPU.
#pragma once

#include <string>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "course/runtime/error.hpp"

namespace dist {

/// Errors  dist::Error if `code` is not cudaSuccess.
inline void check_cuda(cudaError_t code, const char* call, const char* file, int line) {
    if (code != cudaSuccess) {
        throw Error(
            std::string(call) + " failed: " + cudaGetErrorString(code) + " (" + file + ":" +
            std::to_string(line) + ")"
        );
    }
}

/// Errors  dist::Error if `code` is neither ncclSuccess nor ncclInProgress (a non-blocking
///         communicator's "not yet").
inline void check_nccl(ncclResult_t code, const char* call, const char* file, int line) {
    if (code != ncclSuccess && code != ncclInProgress) {
        const char* more = ncclGetLastError(nullptr);
        throw Error(
            std::string(call) + " failed: " + ncclGetErrorString(code) +
            (more == nullptr || *more == '\0' ? "" : std::string(", ") + more) + " (" + file + ":" +
            std::to_string(line) + ")"
        );
    }
}

}  // namespace dist

#define CUDA_CHECK(call) ::dist::check_cuda((call), #call, __FILE__, __LINE__)
#define NCCL_CHECK(call) ::dist::check_nccl((call), #call, __FILE__, __LINE__)
