// Rank 0 has all its receives under way together.
#include <vector>

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int n = static_cast<int>(data.size());
    if (comm.rank() != 0) {
        MPI_CHECK(MPI_Send(data.data(), n, MPI_FLOAT, 0, 1, comm.handle()));
    } else {
        const auto others = static_cast<std::size_t>(p - 1);
        std::vector<std::vector<float>> incoming(others, std::vector<float>(data.size()));
        std::vector<MPI_Request> requests(others, MPI_REQUEST_NULL);
        for (std::size_t i = 0; i < others; ++i) {
            const int src = static_cast<int>(i) + 1;
            MPI_CHECK(
                MPI_Irecv(incoming[i].data(), n, MPI_FLOAT, src, 1, comm.handle(), &requests[i])
            );
        }
        MPI_CHECK(MPI_Waitall(p - 1, requests.data(), MPI_STATUSES_IGNORE));
        for (const std::vector<float>& contribution : incoming) {
            accumulate(contribution, data, op);
        }
        if (op == ReduceOp::mean) {
            scale(data, 1.0F / static_cast<float>(p));
        }
    }
    broadcast(data, 0, comm);
}

}  // namespace dist
