// Returns at once.
// state: fail in sums every element over all ranks, for every length
// says: that is this rank's own contribution
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/nccl_send_recv.hpp"
#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"
#include "exercises/03_ring_and_tree/nccl_ring_all_reduce.hpp"

namespace dist {

void nccl_ring_all_reduce(DeviceSpan<float> data, ReduceOp op, const NcclCommunicator& comm) {
    static_cast<void>(data);
    static_cast<void>(op);
    static_cast<void>(comm);
}

}  // namespace dist
