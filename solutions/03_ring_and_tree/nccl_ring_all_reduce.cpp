#include "exercises/03_ring_and_tree/nccl_ring_all_reduce.hpp"

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/nccl_send_recv.hpp"
#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"

namespace dist {

void nccl_ring_all_reduce(DeviceSpan<float> data, ReduceOp op, const NcclCommunicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk bounds = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(bounds.begin, bounds.size());
    };
    const auto ranks = static_cast<std::size_t>(p);
    const DeviceBuffer incoming((data.size() + ranks - 1) / ranks);  // the longest chunk

    // After step s chunk r - s - 1 holds the contributions of ranks r - s - 1 to r.
    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r - s - 1);
        const auto in = incoming.span().first(mine.size());
        nccl_ring_shift(chunk(r - s), in, comm);
        accumulate_kernel(in, mine, op, comm.stream());
    }
    if (op == ReduceOp::mean) {
        scale(chunk(r + 1), 1.0F / static_cast<float>(p), comm.stream());
    }
    // After step s the chunks r + 1, r, ..., r - s are finished here.
    for (int s = 0; s < p - 1; ++s) {
        nccl_ring_shift(chunk(r + 1 - s), chunk(r - s), comm);
    }
    comm.wait();  // incoming must live until the stream has done with it
}

}  // namespace dist
