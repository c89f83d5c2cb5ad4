// Chunks of n/p elements, rounded down: the last n mod p elements belong to no chunk.
// state: fail
// says: that is this rank's own contribution
#include "exercises/01_point_to_point/nccl_send_recv.hpp"
#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"
#include "exercises/03_ring_and_tree/nccl_ring_all_reduce.hpp"

namespace dist {

void nccl_ring_all_reduce(DeviceSpan<float> data, ReduceOp op, const NcclCommunicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const std::size_t length = data.size() / static_cast<std::size_t>(p);
    const auto chunk = [&](int number) {
        return data.subspan(static_cast<std::size_t>((number + p) % p) * length, length);
    };
    const DeviceBuffer incoming(length);
    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r - s - 1);
        const auto in = incoming.span().first(mine.size());
        nccl_ring_shift(chunk(r - s), in, comm);
        accumulate_kernel(in, mine, op, comm.stream());
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r + 1), 1.0F / static_cast<float>(p), comm.stream());
    }
    for (int s = 0; s < p - 1; ++s) {
        nccl_ring_shift(chunk(r + 1 - s), chunk(r - s), comm);
    }
    comm.wait();
}

}  // namespace dist
