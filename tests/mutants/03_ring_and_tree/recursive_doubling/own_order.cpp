// Gathers all contributions by doubling, for p a power of two, and adds its own first: the right
// sum in log2 p rounds, more bytes, and other bits on every rank.
// state: fail
// says: FAIL  recursive_doubling leaves the same bits on every rank
// says: CHECK( traffic.bytes_sent ==
#include <vector>

#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"

namespace dist {

void recursive_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    if ((p & (p - 1)) != 0) {
        all_reduce(data, op, comm);
        return;
    }
    const std::size_t n = data.size();
    std::vector<float> gathered(data.begin(), data.end());
    for (int d = 1; d < p; d *= 2) {
        std::vector<float> incoming(gathered.size());
        Request sent = isend(gathered, comm.rank() ^ d, comm);
        recv(incoming, comm.rank() ^ d, comm);
        sent.wait();
        gathered.insert(gathered.end(), incoming.begin(), incoming.end());
    }
    for (int i = 1; i < p; ++i) {
        accumulate(std::span(gathered).subspan(static_cast<std::size_t>(i) * n, n), data, op);
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
