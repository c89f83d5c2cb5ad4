#include "exercises/03_ring_and_tree/nccl_ring_all_reduce.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/nccl_send_recv.hpp"
#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"

namespace dist {

void nccl_ring_all_reduce(DeviceSpan<float> data, ReduceOp op, const NcclCommunicator& comm) {
    // TODO: your two halves of the ring, with nccl_ring_shift in the place of ring_shift, a
    // DeviceBuffer in the place of a vector, and accumulate_kernel in the place of accumulate. Each
    // piece of work goes into comm.stream(); at the end, comm.wait().
    throw NotImplemented("nccl_ring_all_reduce");
}

}  // namespace dist
