#include "tests/harness/gpu/gpu.hpp"

#include <map>
#include <memory>

#include <cuda_runtime_api.h>

#include "tests/harness/gpu/nccl_layer.hpp"
#include "tests/harness/job/runs.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr const char* kWhyCrash =
    "it crashed. Does host code read or write memory of the GPU? Only kernels and copies can";

/// NCCL's communicators are dear: connecting a few ranks on one GPU takes seconds. They are kept, until a
/// test fails: nobody knows what it has left in them.
struct Connected {
    MPI_Comm ranks = MPI_COMM_NULL;  // whose they are, until the next test: then others, the same
    std::unique_ptr<NcclCommunicator> nccl;
};
// by size; never destroyed: when the program ends, CUDA is gone before
std::map<int, Connected>& connected = *new std::map<int, Connected>;  // NOLINT
long failed_test = 0;  // the last one that is known here
bool spoilt = false;   // of this body: a group was thrown away

const NcclCommunicator& connect(const Communicator& comm) {
    if (failed_test != board().failed_test) {
        failed_test = board().failed_test;
        connected.clear();
    }
    Connected& found = connected[comm.size()];
    const bool is_new = found.nccl == nullptr;
    if (is_new || (on_stand_in() && found.ranks != comm.handle())) {
        found.nccl = std::make_unique<NcclCommunicator>(comm);
        found.ranks = comm.handle();
    }
    return *found.nccl;
}

Communicator ranks_of(const NcclCommunicator& comm) {
    return Communicator::borrow(connected.at(comm.size()).ranks);
}

void need_gpu() {
    int gpus = 0;
    const cudaError_t code = cudaGetDeviceCount(&gpus);
    if (code == cudaErrorInsufficientDriver) {
        skip("no GPU can be used here: there is no driver for one, or it is too old for this CUDA");
    }
    if (code != cudaSuccess) {
        skip(
            std::string("no GPU can be used here: CUDA says \"") + cudaGetErrorString(code) + "\""
        );
    }
    if (gpus == 0) {
        skip("there is no GPU here");
    }
}

/// Whether the code under test has ended its groups. Those that it has not are thrown away.
bool groups_are_ended() {
    if (open_groups() == 0) {
        return true;
    }
    close_groups();
    spoilt = true;
    worsen(Outcome::fail, "");
    current_test().message =
        "a group was not ended: what is between ncclGroupStart and ncclGroupEnd begins when "
        "ncclGroupEnd is called, and not before";
    return false;
}

}  // namespace

void on_gpus(
    std::initializer_list<int> sizes,
    const std::function<void(const NcclCommunicator&)>& body,
    Connection connection
) {
    if (!test_is_selected()) {
        return;
    }
    need_gpu();
    on_ranks(sizes, [&](const Communicator& comm) {
        const CrashMeans hint(kWhyCrash);
        close_groups();  // of a test that was stopped
        spoilt = false;
        if (connection == Connection::own) {
            connected.erase(comm.size());
        }
        const NcclCommunicator& nccl = connect(comm);
        connected.at(comm.size()).ranks = comm.handle();
        body(nccl);
        if (groups_are_ended() && !spoilt && connection == Connection::shared) {
            nccl.wait();
        }
        if (connection == Connection::own) {
            connected.erase(comm.size());
        }
    });
}

void on_gpu(const std::function<void(const Stream&)>& body) {
    if (!test_is_selected()) {
        return;
    }
    need_gpu();
    on_ranks({1}, [&](const Communicator&) {
        const CrashMeans hint(kWhyCrash);
        choose_gpu();
        const Stream stream;
        body(stream);
        stream.wait();
    });
}

Traffic record(const NcclCommunicator& comm, const std::function<void()>& body) {
    Traffic traffic = record(ranks_of(comm), [&] {
        body();
        if (groups_are_ended()) {
            comm.wait();
        }
    });
    if (!on_stand_in()) {
        traffic.rounds = traffic.half_duplex_rounds =
            0;  // work of several streams has no order here
    }
    return traffic;
}

Comparison same_on_all_ranks(std::span<const float> data, const NcclCommunicator& comm) {
    return same_on_all_ranks(data, ranks_of(comm));
}

std::set<int> neighbours(const NcclCommunicator& comm) {
    return neighbours(ranks_of(comm));
}

}  // namespace dist::harness
