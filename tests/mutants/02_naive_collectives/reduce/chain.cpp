// The data is added up from rank to rank: right, but it is another algorithm.
// state: fail
// says: a rank that adds on the way is another algorithm
#include <algorithm>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "reduce: root must be a rank of comm");
    const int p = comm.size();
    const int place = (comm.rank() - root + p) % p;
    std::vector<float> total(data.begin(), data.end());
    if (place < p - 1) {
        std::vector<float> incoming(data.size());
        recv(incoming, (comm.rank() + 1) % p, comm);
        accumulate(incoming, total, op);
    }
    if (place > 0) {
        send(total, (comm.rank() - 1 + p) % p, comm);
        return;
    }
    std::copy(total.begin(), total.end(), data.begin());
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
