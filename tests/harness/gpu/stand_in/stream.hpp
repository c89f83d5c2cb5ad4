// The stand-in's streams and memory, as its CUDA, its NCCL and its kernels share them.
//
// Note [As late as allowed] CUDA and NCCL promise when work is done at the latest: when somebody has
// waited for its stream. On a GPU it is usually done much earlier, so that a program which forgets
// to wait, or uses a second stream, is right by luck. The stand-in does nothing before it must.
//
// Note [Memory] The stand-in's device memory is memory of the host that can be touched only while a
// stream works. Each piece ends where a page ends, and the next page belongs to nobody.
#pragma once

#include <cstddef>
#include <functional>

#include <cuda_runtime_api.h>

namespace dist::stand_in {

/// Puts work into a stream; null is the default stream.
void put(cudaStream_t stream, std::function<void()> work);

/// Does all work of a stream, in order.
///
/// Errors  what the work throws; the rest is then forgotten.
void run(cudaStream_t stream);

/// Whether [address, address + bytes) lies within one piece of device memory.
bool is_device_memory(const void* address, std::size_t bytes);

/// While it lives, device memory can be touched.
class Unlocked {
  public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
};

/// Returns `error`, which cudaGetLastError will say, too.
cudaError_t failed(cudaError_t error);

}  // namespace dist::stand_in
