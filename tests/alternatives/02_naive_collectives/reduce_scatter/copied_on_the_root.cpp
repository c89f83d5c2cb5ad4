// Only the root needs the copy: every other rank sends in as it is.
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/reduce_scatter.hpp"
#include "exercises/02_naive_collectives/scatter.hpp"

namespace dist {

void reduce_scatter(
    std::span<const float> in, std::span<float> out, ReduceOp op, const Communicator& comm
) {
    const int p = comm.size();
    std::vector<float> data;
    if (comm.rank() != 0) {
        send(in, 0, comm);
    } else {
        data.assign(in.begin(), in.end());
        std::vector<float> incoming(in.size());
        for (int src = 1; src < p; ++src) {
            recv(incoming, src, comm);
            accumulate(incoming, data, op);
        }
        if (op == ReduceOp::mean) {
            scale(data, 1.0F / static_cast<float>(p));
        }
    }
    scatter(data, out, 0, comm);
}

}  // namespace dist
