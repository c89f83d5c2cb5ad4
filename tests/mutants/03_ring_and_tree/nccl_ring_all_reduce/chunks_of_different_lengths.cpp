// Receives as much as it sends: where the chunks differ in length, the two sides disagree.
// state: fail
// says: NCCL does not tell one side how long
#include <algorithm>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/nccl_send_recv.hpp"
#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"
#include "exercises/03_ring_and_tree/nccl_ring_all_reduce.hpp"

namespace dist {

void nccl_ring_all_reduce(DeviceSpan<float> data, ReduceOp op, const NcclCommunicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const auto chunk = [&](int number) {
        const Chunk bounds = chunk_bounds(data.size(), p, (number + p) % p);
        return data.subspan(bounds.begin, bounds.size());
    };
    const DeviceBuffer incoming(chunk(0).size());
    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk(r - s - 1);
        const auto in = incoming.span().first(chunk(r - s).size());
        nccl_ring_shift(chunk(r - s), in, comm);
        accumulate_kernel(
            in.first(std::min(in.size(), mine.size())),
            mine.first(std::min(in.size(), mine.size())), op, comm.stream()
        );
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
