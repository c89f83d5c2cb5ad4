// The root has all its receives under way together.
#include <vector>

#include <mpi.h>

#include "exercises/02_naive_collectives/reduce.hpp"

namespace dist {

void reduce(std::span<float> data, ReduceOp op, int root, const Communicator& comm) {
    expects(0 <= root && root < comm.size(), "reduce: root must be a rank of comm");
    const int p = comm.size();
    const int n = static_cast<int>(data.size());
    if (comm.rank() != root) {
        MPI_CHECK(MPI_Send(data.data(), n, MPI_FLOAT, root, 7, comm.handle()));
        return;
    }
    const auto ranks = static_cast<std::size_t>(p);
    std::vector<std::vector<float>> incoming(ranks, std::vector<float>(data.size()));
    std::vector<MPI_Request> requests(ranks, MPI_REQUEST_NULL);
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            const auto i = static_cast<std::size_t>(src);
            MPI_CHECK(
                MPI_Irecv(incoming[i].data(), n, MPI_FLOAT, src, 7, comm.handle(), &requests[i])
            );
        }
    }
    MPI_CHECK(MPI_Waitall(p, requests.data(), MPI_STATUSES_IGNORE));
    for (int src = 0; src < p; ++src) {
        if (src != root) {
            accumulate(incoming[static_cast<std::size_t>(src)], data, op);
        }
    }
    if (op == ReduceOp::mean) {
        scale(data, 1.0F / static_cast<float>(p));
    }
}

}  // namespace dist
