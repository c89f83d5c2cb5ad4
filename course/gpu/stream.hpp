// A queue of work for a GPU: RAII over cudaStream_t.
#pragma once

#include <cuda_runtime_api.h>

namespace dist {

/// Work that is put into one stream is done in the order in which it was put there, later than the
/// call that put it there. Two streams know nothing of each other; in particular this one does not
/// wait for the default stream, nor the default stream for this one.
///
/// Errors  dist::Error if CUDA refuses.
class Stream {
  public:
    Stream();
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    [[nodiscard]] cudaStream_t handle() const { return handle_; }

    /// Returns when all work that was put into this stream has been done.
    void wait() const;

  private:
    cudaStream_t handle_ = nullptr;
};

}  // namespace dist
