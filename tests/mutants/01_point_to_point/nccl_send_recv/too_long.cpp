// Counts bytes where NCCL counts elements: four times as many leave as there are.
// state: fail
// says: not all of it is
#include "exercises/01_point_to_point/nccl_send_recv.hpp"

namespace dist {

void nccl_send(DeviceSpan<const float> data, int dst, const NcclCommunicator& comm) {
    NCCL_CHECK(
        ncclSend(data.data(), data.size_bytes(), ncclFloat, dst, comm.handle(), comm.stream())
    );
}

void nccl_recv(DeviceSpan<float> data, int src, const NcclCommunicator& comm) {
    NCCL_CHECK(
        ncclRecv(data.data(), data.size_bytes(), ncclFloat, src, comm.handle(), comm.stream())
    );
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
