// The counterpart of mpi_*.cpp for NCCL: nccl.h has a second name, pncclX, for every ncclX, so that a
// program may define ncclX itself. Messages on GPUs are told to the channel here; the stand-in's go over MPI,
// whose layer tells them.

#include "tests/harness/gpu/nccl_layer.hpp"

#include <functional>
#include <vector>

#include <nccl.h>

#include "tests/harness/channel.hpp"
#include "tests/harness/gpu/gpu.hpp"
#include "tests/harness/mpi/allowed.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

using namespace dist::harness;

namespace {

int groups = 0;  // of the one thread that runs tests
std::vector<std::function<void()>>
    ends;  // of the group's messages: none is through before all have begun

void end_messages() {
    for (const auto& end : ends) {
        end();
    }
    ends.clear();
}

void tell(ncclResult_t result, bool is_send, int peer, std::size_t n, ncclDataType_t type) {
    const bool accepted = result == ncclSuccess || result == ncclInProgress;
    if (!accepted || !guarded() || on_stand_in()) {
        return;
    }
    const channel::Carried message{.peer = peer, .bytes = static_cast<int>(bytes_of(n, type))};
    const int id = is_send ? channel::sends(message) : channel::awaits();
    ends.emplace_back([=] { is_send ? channel::taken(id) : channel::receives(message, id); });
    if (groups == 0) {
        end_messages();
    }
}

}  // namespace

namespace dist::harness {

long bytes_of(std::size_t count, ncclDataType_t type) {
    switch (type) {
        case ncclInt8:
        case ncclUint8:
            return static_cast<long>(count);
        case ncclFloat16:
        case ncclBfloat16:
            return 2 * static_cast<long>(count);
        case ncclInt64:
        case ncclUint64:
        case ncclFloat64:
            return 8 * static_cast<long>(count);
        default:
            return 4 * static_cast<long>(count);
    }
}

int open_groups() {
    return groups;
}

void close_groups() {
    for (; groups > 0; --groups) {
        pncclGroupEnd();
    }
    ends.clear();
}

}  // namespace dist::harness

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists and calls, not expressions
#define COLLECTIVE(name, parameters, arguments)           \
    ncclResult_t nccl##name parameters {                  \
        check_allowed("nccl" #name, MPI_COMM_NULL, true); \
        return pnccl##name arguments;                     \
    }

extern "C" {

ncclResult_t ncclSend(
    const void* b, size_t n, ncclDataType_t t, int dst, ncclComm_t c, cudaStream_t s
) {
    check_allowed("ncclSend", MPI_COMM_NULL);
    const ncclResult_t result = pncclSend(b, n, t, dst, c, s);
    tell(result, true, dst, n, t);
    return result;
}
ncclResult_t ncclRecv(void* b, size_t n, ncclDataType_t t, int src, ncclComm_t c, cudaStream_t s) {
    check_allowed("ncclRecv", MPI_COMM_NULL);
    const ncclResult_t result = pncclRecv(b, n, t, src, c, s);
    tell(result, false, src, n, t);
    return result;
}
ncclResult_t ncclGroupStart() {
    ++groups;
    return pncclGroupStart();
}
ncclResult_t ncclGroupEnd() {
    groups -= groups > 0 ? 1 : 0;
    if (groups == 0) {
        end_messages();
    }
    return pncclGroupEnd();
}

COLLECTIVE(
    AllReduce,
    (const void* in,
     void* out,
     size_t n,
     ncclDataType_t t,
     ncclRedOp_t op,
     ncclComm_t c,
     cudaStream_t s),
    (in, out, n, t, op, c, s)
)
COLLECTIVE(
    Reduce,
    (const void* in,
     void* out,
     size_t n,
     ncclDataType_t t,
     ncclRedOp_t op,
     int root,
     ncclComm_t c,
     cudaStream_t s),
    (in, out, n, t, op, root, c, s)
)
COLLECTIVE(
    ReduceScatter,
    (const void* in,
     void* out,
     size_t n,
     ncclDataType_t t,
     ncclRedOp_t op,
     ncclComm_t c,
     cudaStream_t s),
    (in, out, n, t, op, c, s)
)
COLLECTIVE(
    AllGather,
    (const void* in, void* out, size_t n, ncclDataType_t t, ncclComm_t c, cudaStream_t s),
    (in, out, n, t, c, s)
)
COLLECTIVE(
    Broadcast,
    (const void* in, void* out, size_t n, ncclDataType_t t, int root, ncclComm_t c, cudaStream_t s),
    (in, out, n, t, root, c, s)
)
COLLECTIVE(
    Bcast,
    (void* b, size_t n, ncclDataType_t t, int root, ncclComm_t c, cudaStream_t s),
    (b, n, t, root, c, s)
)

}  // extern "C"

#undef COLLECTIVE
// NOLINTEND(bugprone-macro-parentheses)
