// MPI_Sendrecv directly; the first n mod p chunks are one longer; division instead of scaling.
#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int n = static_cast<int>(data.size());
    const int p = comm.size();
    const int r = comm.rank();
    const auto begin = [&](int i) { return i * (n / p) + std::min(i, n % p); };
    const auto length = [&](int i) { return n / p + (i < n % p ? 1 : 0); };
    std::vector<float> incoming(static_cast<std::size_t>(length(0)));

    for (int s = 0; s < p - 1; ++s) {
        const int out = (r - s + p) % p;
        const int in = (r - s - 1 + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            data.data() + begin(out), length(out), MPI_FLOAT, (r + 1) % p, s,  //
            incoming.data(), length(in), MPI_FLOAT, (r + p - 1) % p, s,        //
            comm.handle(), MPI_STATUS_IGNORE
        ));
        const auto count = static_cast<std::size_t>(length(in));
        accumulate(
            std::span(incoming).first(count),
            data.subspan(static_cast<std::size_t>(begin(in)), count), op
        );
    }
    for (int s = 0; s < p - 1; ++s) {
        const int out = (r + 1 - s + p) % p;
        const int in = (r - s + p) % p;
        MPI_CHECK(MPI_Sendrecv(
            data.data() + begin(out), length(out), MPI_FLOAT, (r + 1) % p, p + s,    //
            data.data() + begin(in), length(in), MPI_FLOAT, (r + p - 1) % p, p + s,  //
            comm.handle(), MPI_STATUS_IGNORE
        ));
    }
    if (op == ReduceOp::mean) {
        for (float& value : data) {
            value /= static_cast<float>(p);
        }
    }
}

}  // namespace dist
