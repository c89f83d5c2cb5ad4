// The CUDA runtime of the stand-in, but for its memory: the calls that the course's GPU code makes.

#include <deque>
#include <exception>
#include <set>
#include <utility>

#include "tests/harness/gpu/gpu.hpp"
#include "tests/harness/gpu/stand_in/stream.hpp"

struct CUstream_st {
    std::deque<std::function<void()>> work;
};

namespace dist::stand_in {
namespace {

CUstream_st default_stream;
std::set<CUstream_st*> streams = {&default_stream};
cudaError_t last_error = cudaSuccess;
int chosen_gpu = 0;

CUstream_st& stream_of(cudaStream_t handle) {
    return handle == nullptr ? default_stream : *handle;
}

}  // namespace

void put(cudaStream_t stream, std::function<void()> work) {
    stream_of(stream).work.push_back(std::move(work));
}

void run(cudaStream_t stream) {
    const auto work = std::exchange(stream_of(stream).work, {});
    if (work.empty() || std::uncaught_exceptions() > 0) {
        return;  // the test was stopped: what it left behind must not happen any more
    }
    const Unlocked memory;
    for (const auto& next : work) {
        next();
    }
}

cudaError_t failed(cudaError_t error) {
    return last_error = error;
}

}  // namespace dist::stand_in

namespace dist::harness {

bool on_stand_in() {
    return true;
}

}  // namespace dist::harness

using namespace dist::stand_in;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 64;  // one for each rank
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    chosen_gpu = device;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = chosen_gpu;
    return cudaSuccess;
}

cudaError_t cudaGetLastError() {
    return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
    return last_error;
}
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "no error";
        case cudaErrorInvalidValue:
            return "invalid argument";
        case cudaErrorInvalidConfiguration:
            return "invalid configuration argument";
        case cudaErrorMemoryAllocation:
            return "out of memory";
        default:
            return "an error of CUDA's";
    }
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
    *stream = *streams.insert(new CUstream_st).first;
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    streams.erase(stream);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    run(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    run(stream);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    for (CUstream_st* stream : streams) {
        run(stream);
    }
    return cudaSuccess;
}

}  // extern "C"
