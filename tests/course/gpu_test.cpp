// Memory and streams of GPUs, on the stand-in: it does nothing before it must, and notices what a GPU
// would not.

#include <span>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include "course/gpu/check.hpp"
#include "course/gpu/device_buffer.hpp"
#include "course/gpu/device_span.hpp"
#include "course/gpu/stream.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;

namespace {

template <class T>
concept CanBeIndexed = requires(T span) {
    span[0];
};

static_assert(!CanBeIndexed<DeviceSpan<float>>);
static_assert(std::is_convertible_v<DeviceSpan<float>, DeviceSpan<const float>>);
static_assert(!std::is_convertible_v<DeviceSpan<const float>, DeviceSpan<float>>);
static_assert(!std::is_constructible_v<std::span<float>, DeviceSpan<float>>);

const std::vector<float> kThree = {1, 2, 3};

void copy(const DeviceBuffer& from, const DeviceBuffer& to, const Stream& stream) {
    CUDA_CHECK(cudaMemcpyAsync(
        to.span().data(), from.span().data(), from.span().size_bytes(), cudaMemcpyDeviceToDevice,
        stream.handle()
    ));
}

/// Whether a process that reads the address dies of it.
bool reading_is_fatal(const float* address) {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        const volatile float* there = address;
        _exit(*there == 0 ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return !WIFEXITED(status);
}

}  // namespace

TEST_CASE("a buffer holds what it was made from, and parts of it can be named") {
    const DeviceBuffer buffer(kThree);
    CHECK(buffer.to_host() == kThree);
    CHECK(buffer.span().subspan(1, 2).size() == 2);
    CHECK(buffer.span().subspan(1, 2).data() == buffer.span().data() + 1);
    CHECK(DeviceBuffer(std::size_t{0}).to_host().empty());
    CHECK(DeviceBuffer(std::size_t{2}).to_host() != std::vector<float>(2, 0.0F));
}

TEST_CASE("a buffer is there for every stream when its constructor returns") {
    const DeviceBuffer to(std::vector<float>{0, 0, 0});
    const DeviceBuffer from(kThree);
    const Stream stream;
    copy(from, to, stream);
    stream.wait();
    CHECK(to.to_host() == kThree);
}

TEST_CASE("work is done in the order of its stream, and not before somebody waits") {
    const DeviceBuffer from(kThree);
    const DeviceBuffer to(std::vector<float>{0, 0, 0});
    const Stream stream;
    const Stream other;
    copy(from, to, stream);
    CHECK(to.to_host() == std::vector<float>{0, 0, 0});
    other.wait();
    CHECK(to.to_host() == std::vector<float>{0, 0, 0});
    stream.wait();
    CHECK(to.to_host() == kThree);
}

TEST_CASE(
    "what cudaMemcpy brings from the host is there for a stream that waited for the default one"
) {
    const std::vector<float> zeros = {0, 0, 0};
    for (const bool waits : {false, true}) {
        const DeviceBuffer to(kThree);
        const DeviceBuffer copied(kThree);
        CHECK(
            cudaMemcpy(to.span().data(), zeros.data(), 3 * sizeof(float), cudaMemcpyHostToDevice) ==
            cudaSuccess
        );
        if (waits) {
            CHECK(cudaStreamSynchronize(nullptr) == cudaSuccess);
        }
        const Stream stream;
        copy(to, copied, stream);
        stream.wait();
        CHECK(copied.to_host() == (waits ? zeros : kThree));
    }
}

TEST_CASE("memory is given back when all work that may use it is done") {
    const DeviceBuffer to(std::vector<float>{0, 0, 0});
    const Stream stream;
    {
        const DeviceBuffer from(kThree);
        copy(from, to, stream);
    }
    CHECK(to.to_host() == kThree);
}

TEST_CASE("the host cannot read the memory of the GPU, and nobody can read beyond its end") {
    const DeviceBuffer buffer(kThree);
    CHECK(reading_is_fatal(buffer.span().data()));
    CHECK(reading_is_fatal(buffer.span().data() + 4));
    float host[3] = {};
    const cudaError_t wrong_way = cudaMemcpy(host, host, sizeof host, cudaMemcpyDeviceToHost);
    CHECK(wrong_way == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaSuccess);
}
