// Rank 0 takes what is there first, by a probe that takes the message along.
// state: pass

#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    if (comm.rank() != 0) {
        MPI_Ssend(data.data(), static_cast<int>(data.size()), MPI_FLOAT, 0, 3, comm.handle());
    } else {
        std::vector<std::vector<float>> all(static_cast<std::size_t>(comm.size()));
        for (int i = 1; i < comm.size(); ++i) {
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Status status;
            MPI_CHECK(MPI_Mprobe(MPI_ANY_SOURCE, 3, comm.handle(), &message, &status));
            int n = 0;
            MPI_Get_count(&status, MPI_FLOAT, &n);
            std::vector<float>& other = all[static_cast<std::size_t>(status.MPI_SOURCE)];
            other.resize(static_cast<std::size_t>(n));
            MPI_CHECK(MPI_Mrecv(other.data(), n, MPI_FLOAT, &message, MPI_STATUS_IGNORE));
        }
        for (int src = 1; src < comm.size(); ++src) {
            accumulate(all[static_cast<std::size_t>(src)], data, op);
        }
        if (op == ReduceOp::mean) {
            for (float& x : data) {
                x /= static_cast<float>(comm.size());
            }
        }
    }
    broadcast(data, 0, comm);
}

}  // namespace dist
