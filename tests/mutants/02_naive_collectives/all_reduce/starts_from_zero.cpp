// Rank 0 accumulates into zeros: right for a sum, wrong for a product and a minimum.
// state: fail
// says: not from zero
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    if (comm.rank() != 0) {
        send(data, 0, comm);
    } else {
        std::vector<float> total(data.size(), 0.0F);
        std::vector<float> incoming(data.begin(), data.end());
        for (int src = 1; src <= p; ++src) {
            accumulate(incoming, total, op);
            if (src < p) {
                recv(incoming, src, comm);
            }
        }
        if (op == ReduceOp::mean) {
            scale(total, 1.0F / static_cast<float>(p));
        }
        std::copy(total.begin(), total.end(), data.begin());
    }
    broadcast(data, 0, comm);
}

}  // namespace dist
