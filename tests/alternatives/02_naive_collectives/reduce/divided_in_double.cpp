// The mean is divided in double.
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "reduce: root must be a rank of comm");
    const int p = comm.size();
    if (comm.rank() != root) {
        send(data, root, comm);
        return;
    }
    std::vector<double> total(data.begin(), data.end());
    std::vector<float> incoming(data.size());
    for (int src = 0; src < p; ++src) {
        if (src == root) {
            continue;
        }
        recv(incoming, src, comm);
        std::vector<float> sum(total.begin(), total.end());
        accumulate(incoming, sum, op);
        total.assign(sum.begin(), sum.end());
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<float>(op == ReduceOp::mean ? total[i] / p : total[i]);
    }
}

}  // namespace dist
