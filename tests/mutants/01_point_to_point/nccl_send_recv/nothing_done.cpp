// All three are empty.
// state: fail in messages between two ranks arrive in the order in which they were sent
// says: nothing was written
#include "exercises/01_point_to_point/nccl_send_recv.hpp"

namespace dist {

void nccl_send(DeviceSpan<const float> /*data*/, int /*dst*/, const NcclCommunicator& /*comm*/) {}

void nccl_recv(DeviceSpan<float> /*data*/, int /*src*/, const NcclCommunicator& /*comm*/) {}

void nccl_ring_shift(
    DeviceSpan<const float> to_next, DeviceSpan<float> from_prev, const NcclCommunicator& comm
) {
    static_cast<void>(to_next);
    static_cast<void>(from_prev);
    static_cast<void>(comm);
}

}  // namespace dist
