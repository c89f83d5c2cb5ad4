// The NCCL of the stand-in: messages between host processes, over MPI and through the harness, which
// counts them and sees who waits for whom.
//
// Note [Wrong there, wrong here] What a program may not rely on with NCCL does not hold here either:
// - a message is through when it was received: no send ends before its receive begins;
// - the calls of a group begin together, when the outermost group ends, and none before;
// - a call of a non-blocking communicator is in its stream when ncclCommGetAsyncError has said so,
//   not before, and until then the communicator takes no other call;
// - both sides of a message must name the same number of bytes. NCCL would hang, or mix up messages;
//   here it is an error that says so.

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nccl.h>

#include "course/protocol/counted.hpp"
#include "course/runtime/error.hpp"
#include "tests/harness/gpu/nccl_layer.hpp"
#include "tests/harness/gpu/stand_in/meeting.hpp"
#include "tests/harness/gpu/stand_in/stream.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

using namespace dist::harness;
using dist::Error;
using dist::stand_in::Meeting;

namespace {

struct Call {
    bool is_send = false;
    void* data = nullptr;
    int bytes = 0;
    int peer = 0;
    cudaStream_t stream = nullptr;
    std::shared_ptr<Frames> asked_at;  // the student's line, long returned from when it waits
};
using Calls = std::vector<Call>;

}  // namespace

struct ncclComm {
    MPI_Comm messages = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;
    std::vector<Calls> accepted;  // and not in the stream yet
};

namespace {

int depth = 0;  // of the groups that are open
const char* last_error = "";
std::map<ncclComm*, Calls> in_group;  // of the open ones, by communicator

/// Does the calls of one group: all at once, and returns when all are through.
void exchange(const Calls& group, MPI_Comm comm) {
    std::vector<MPI_Request> requests;
    for (const Call& call : group) {
        requests.push_back(
            call.is_send
                ? post_send(call.data, call.bytes, MPI_BYTE, call.peer, 0, comm, "ncclSend")
                : post_receive(call.data, call.bytes, MPI_BYTE, call.peer, 0, comm, "ncclRecv")
        );
        note_origin(requests.back(), call.asked_at);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
        const Call& call = group[i];
        MPI_Status status;
        int came = call.bytes;
        const int code = wait_request(&requests[i], &status);
        if (!call.is_send && code == MPI_SUCCESS) {
            PMPI_Get_count(&status, MPI_BYTE, &came);
        }
        if (code != MPI_SUCCESS || came != call.bytes) {
            throw Error(
                "ncclRecv expects " + counted(call.bytes, "byte") + " from rank " +
                std::to_string(call.peer) + ", and ncclSend there sent " +
                (code == MPI_SUCCESS ? std::to_string(came) : "more") +
                ": NCCL does not tell one side how long the other side's message is; on GPUs this "
                "hangs, or mixes up messages"
            );
        }
    }
}

/// The outermost group has ended, or a call without one was made.
ncclResult_t accept_calls() {
    for (auto& [comm, group] : in_group) {
        comm->accepted.push_back(std::move(group));
    }
    const bool any = !in_group.empty();
    in_group.clear();
    return any ? ncclInProgress : ncclSuccess;
}

ncclResult_t add(ncclComm* comm, Call call) {
    if (comm == nullptr || call.peer < 0 || call.peer >= comm->size) {
        last_error = "no such rank";
        return ncclInvalidArgument;
    }
    if (!comm->accepted.empty()) {
        last_error =
            "the communicator is still busy with the call before: comm.stream() waits for that";
        return ncclInvalidArgument;
    }
    const auto bytes = static_cast<std::size_t>(call.bytes);
    if (!dist::stand_in::is_device_memory(call.data, bytes)) {
        throw Error(
            std::string(call.is_send ? "ncclSend" : "ncclRecv") + " of " + counted(bytes, "byte") +
            ": this is not memory of the GPU, or not all of it is"
        );
    }
    call.asked_at = std::make_shared<Frames>();
    capture_frames(*call.asked_at);
    in_group[comm].push_back(std::move(call));
    return depth > 0 ? ncclSuccess : accept_calls();
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    static int number = 0;
    Meeting meeting{0, number++};
    PMPI_Comm_rank(MPI_COMM_WORLD, &meeting.host);
    std::memcpy(id, &meeting, sizeof meeting);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* /*config*/
) {
    Meeting meeting{};
    std::memcpy(&meeting, &id, sizeof meeting);
    *comm = new ncclComm{dist::stand_in::meet(meeting, size, rank), rank, size, {}};
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
    if (comm == nullptr) {
        return ncclInvalidArgument;
    }
    for (Calls& group : comm->accepted) {
        const cudaStream_t stream = group.front().stream;
        dist::stand_in::put(stream, [group, messages = comm->messages] {
            exchange(group, messages);
        });
    }
    comm->accepted.clear();
    *state = ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    in_group.erase(comm);
    delete comm;  // its MPI communicator stays: a message may still be on its way
    return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    return comm == nullptr ? ncclInvalidArgument : ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    return ncclCommAbort(comm);
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
    *count = comm->size;
    return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
    *rank = comm->rank;
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSuccess:
            return "no error";
        case ncclInvalidArgument:
            return "invalid argument";
        case ncclInvalidUsage:
            return "invalid usage";
        case ncclInProgress:
            return "NCCL operation in progress";
        default:
            return "an error of NCCL's";
    }
}

const char* ncclGetLastError(ncclComm_t /*comm*/) {
    return last_error;
}

// What nccl_layer.cpp passes on.

ncclResult_t pncclGroupStart() {
    ++depth;
    return ncclSuccess;
}
ncclResult_t pncclGroupEnd() {
    if (depth == 0) {
        return ncclInvalidUsage;
    }
    return --depth > 0 ? ncclSuccess : accept_calls();
}
ncclResult_t pncclSend(
    const void* b, size_t n, ncclDataType_t t, int dst, ncclComm_t c, cudaStream_t s
) {
    return add(c, {true, const_cast<void*>(b), static_cast<int>(bytes_of(n, t)), dst, s, nullptr});
}
ncclResult_t pncclRecv(void* b, size_t n, ncclDataType_t t, int src, ncclComm_t c, cudaStream_t s) {
    return add(c, {false, b, static_cast<int>(bytes_of(n, t)), src, s, nullptr});
}

}  // extern "C"
