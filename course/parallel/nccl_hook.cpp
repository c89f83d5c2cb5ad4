#include "course/parallel/nccl_hook.hpp"

#include <memory>

#include "course/gpu/check.hpp"
#include "course/gpu/nccl_communicator.hpp"

namespace dist::trainer {

namespace {

/// A moment in a stream, which others can wait for.
class Event {
  public:
    Event() { CUDA_CHECK(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming)); }
    ~Event() { cudaEventDestroy(handle_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    Event(Event&&) = delete;
    Event& operator=(Event&&) = delete;

    void record(cudaStream_t stream) const { CUDA_CHECK(cudaEventRecord(handle_, stream)); }
    void make_wait(cudaStream_t stream) const {
        CUDA_CHECK(cudaStreamWaitEvent(stream, handle_, 0));
    }

  private:
    cudaEvent_t handle_ = nullptr;
};

constexpr cudaStream_t kDefaultStream = nullptr;  // LibTorch's

}  // namespace

CommHook nccl_hook(const Communicator& comm) {
    const auto nccl = std::make_shared<NcclCommunicator>(comm);
    return [nccl](const at::Tensor& flat) {
        const Event gradients;
        gradients.record(kDefaultStream);
        gradients.make_wait(nccl->stream());
        NCCL_CHECK(ncclAllReduce(
            flat.data_ptr(), flat.data_ptr(), static_cast<std::size_t>(flat.numel()), ncclFloat,
            ncclSum, nccl->handle(), nccl->stream()
        ));
        const auto sum = std::make_shared<Event>();
        sum->record(nccl->stream());
        return std::async(std::launch::deferred, [sum] { sum->make_wait(kDefaultStream); });
    };
}

}  // namespace dist::trainer
