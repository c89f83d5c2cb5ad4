// Rank 0 sends, and each rank sends only when it has received: right, and p times as slow.
// state: fail
// says: all ranks send and receive at the same time
#include "exercises/01_point_to_point/nccl_send_recv.hpp"

namespace dist {

void nccl_send(DeviceSpan<const float> data, int dst, const NcclCommunicator& comm) {
    NCCL_CHECK(ncclSend(data.data(), data.size(), ncclFloat, dst, comm.handle(), comm.stream()));
}

void nccl_recv(DeviceSpan<float> data, int src, const NcclCommunicator& comm) {
    NCCL_CHECK(ncclRecv(data.data(), data.size(), ncclFloat, src, comm.handle(), comm.stream()));
}

void nccl_ring_shift(
    DeviceSpan<const float> to_next, DeviceSpan<float> from_prev, const NcclCommunicator& comm
) {
    const int p = comm.size();
    const int r = comm.rank();
    const int next = (r + 1) % p;
    const int prev = (r - 1 + p) % p;
    if (p == 1) {
        NCCL_CHECK(ncclGroupStart());
    }
    if (r == 0) {
        nccl_send(to_next, next, comm);
        nccl_recv(from_prev, prev, comm);
    } else {
        nccl_recv(from_prev, prev, comm);
        nccl_send(to_next, next, comm);
    }
    if (p == 1) {
        NCCL_CHECK(ncclGroupEnd());
    }
}

}  // namespace dist
