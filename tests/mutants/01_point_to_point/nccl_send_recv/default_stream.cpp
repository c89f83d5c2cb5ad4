// Puts messages into the default stream, for which nobody waits.
// state: fail
// says: and nothing else
// says: work in two streams has no order
#include "exercises/01_point_to_point/nccl_send_recv.hpp"

namespace dist {

void nccl_send(DeviceSpan<const float> data, int dst, const NcclCommunicator& comm) {
    NCCL_CHECK(ncclSend(data.data(), data.size(), ncclFloat, dst, comm.handle(), nullptr));
}

void nccl_recv(DeviceSpan<float> data, int src, const NcclCommunicator& comm) {
    NCCL_CHECK(ncclRecv(data.data(), data.size(), ncclFloat, src, comm.handle(), nullptr));
}

void nccl_ring_shift(
    DeviceSpan<const float> to_next, DeviceSpan<float> from_prev, const NcclCommunicator& comm
) {
    const int p = comm.size();
    const int r = comm.rank();
    NCCL_CHECK(ncclGroupStart());
    nccl_send(to_next, (r + 1) % p, comm);
    nccl_recv(from_prev, (r - 1 + p) % p, comm);
    NCCL_CHECK(ncclGroupEnd());
}

}  // namespace dist
