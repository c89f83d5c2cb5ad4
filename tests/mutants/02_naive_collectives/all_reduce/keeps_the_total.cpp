// The accumulator lives on from call to call.
// state: fail
// says: nothing may be left of an earlier call
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
        static std::vector<float> total;
        if (total.size() != data.size()) {
            total.assign(data.begin(), data.end());
        } else {
            accumulate(data, total, op);
        }
        std::vector<float> incoming(data.size());
        for (int src = 1; src < p; ++src) {
            recv(incoming, src, comm);
            accumulate(incoming, total, op);
        }
        std::copy(total.begin(), total.end(), data.begin());
        if (op == ReduceOp::mean) {
            scale(data, 1.0F / static_cast<float>(p));
        }
    }
    broadcast(data, 0, comm);
}

}  // namespace dist
