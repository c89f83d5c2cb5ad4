#include "course/gpu/stream.hpp"

#include "course/gpu/check.hpp"

namespace dist {

Stream::Stream() {
    CUDA_CHECK(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking));
}

Stream::~Stream() {
    cudaStreamDestroy(handle_);
}

void Stream::wait() const {
    CUDA_CHECK(cudaStreamSynchronize(handle_));
}

}  // namespace dist
