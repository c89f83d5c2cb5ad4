#include "course/gpu/nccl_communicator.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "course/gpu/check.hpp"
#include "course/runtime/clock.hpp"

namespace dist {
namespace {

constexpr double kConnectS = 60;  // ranks on one GPU connect one after another

// A number that Open MPI tells each process; otherwise the world's.
int from_launcher(const char* variable, int (*ask)(MPI_Comm, int*)) {
    if (const char* text = std::getenv(variable); text != nullptr) {
        return std::atoi(text);
    }
    int value = 0;
    MPI_CHECK(ask(MPI_COMM_WORLD, &value));
    return value;
}

// NCCL refuses two ranks on one GPU. Told that they are on different hosts, it lets them, and they
// talk through sockets: slow, and good enough to find out whether a program is right.
void share_gpus(int local_rank) {
    const std::string host = "rank" + std::to_string(local_rank);
    setenv("NCCL_HOSTID", host.c_str(), 1);
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);  // from NCCL 2.30.3 on
    setenv("NCCL_NET", "Socket", 0);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    setenv("NCCL_IB_DISABLE", "1", 0);
    setenv("NCCL_MAX_NCHANNELS", "1", 0);
}

ncclUniqueId identifier_from_rank_0(const Communicator& comm) {
    ncclUniqueId id{};
    if (comm.rank() == 0) {
        NCCL_CHECK(ncclGetUniqueId(&id));
    }
    MPI_CHECK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, comm.handle()));
    return id;
}

}  // namespace

void choose_gpu() {
    int gpus = 0;
    CUDA_CHECK(cudaGetDeviceCount(&gpus));
    if (gpus == 0) {
        throw Error("there is no GPU on this machine");
    }
    static const int local_rank = from_launcher("OMPI_COMM_WORLD_LOCAL_RANK", MPI_Comm_rank);
    static const int local_size = from_launcher("OMPI_COMM_WORLD_LOCAL_SIZE", MPI_Comm_size);
    CUDA_CHECK(cudaSetDevice(local_rank % gpus));
    if (local_size > gpus) {
        share_gpus(local_rank);
    }
}

NcclCommunicator::NcclCommunicator(const Communicator& comm)
    : rank_((choose_gpu(), comm.rank())), size_(comm.size()) {
    const ncclUniqueId id = identifier_from_rank_0(comm);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // Note [Not yet]
    NCCL_CHECK(ncclCommInitRankConfig(&handle_, size_, id, rank_, &config));
    settle(kConnectS);
}

NcclCommunicator::~NcclCommunicator() {
    if (handle_ != nullptr) {
        ncclCommAbort(handle_);
    }
}

cudaStream_t NcclCommunicator::stream() const {
    settle(kConnectS);  // the first message to a rank connects to it
    return stream_.handle();
}

void NcclCommunicator::settle(double limit_s) const {
    const Stopwatch watch;
    for (;;) {
        ncclResult_t state = ncclSuccess;
        NCCL_CHECK(ncclCommGetAsyncError(handle_, &state));
        if (state == ncclSuccess) {
            return;
        }
        if (state != ncclInProgress) {
            give_up(ncclGetErrorString(state));
        }
        if (watch.elapsed_s() > limit_s) {
            give_up("a rank that NCCL has to connect to never came");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

void NcclCommunicator::wait(double limit_s) const {
    settle(limit_s);
    const Stopwatch watch;
    for (;;) {
        const cudaError_t work = cudaStreamQuery(stream_.handle());
        if (work == cudaSuccess) {
            return;
        }
        if (work != cudaErrorNotReady) {
            CUDA_CHECK(work);
        }
        ncclResult_t state = ncclSuccess;
        NCCL_CHECK(ncclCommGetAsyncError(handle_, &state));
        if (state != ncclSuccess && state != ncclInProgress) {
            give_up(ncclGetErrorString(state));
        }
        if (watch.elapsed_s() > limit_s) {
            give_up(
                "time is up. Either a message has no partner, or two ranks wait for each other: is "
                "there a group around calls that need each other?"
            );
        }
        std::this_thread::yield();
    }
}

void NcclCommunicator::give_up(const char* what) const {
    ncclCommAbort(handle_);
    handle_ = nullptr;
    throw Error("NCCL, rank " + std::to_string(rank_) + ": " + what);
}

}  // namespace dist
