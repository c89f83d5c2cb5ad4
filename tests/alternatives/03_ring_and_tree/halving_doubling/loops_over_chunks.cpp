// Two loops in the place of the recursion, over q chunks, by MPI_Sendrecv.
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"

namespace dist {

void halving_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    int power = 1;
    while (2 * power <= p) {
        power *= 2;
    }
    std::vector<float> incoming(data.size());
    if (r >= power) {
        send(data, r - power, comm);
        recv(data, r - power, comm);
        return;
    }
    if (r + power < p) {
        recv(incoming, r + power, comm);
        accumulate(incoming, data, op);
    }
    // the d chunks that a rank keeps in the step of distance d
    const auto kept = [&](int rank, int d) {
        const int first = rank / d * d;
        const std::size_t begin = chunk_bounds(data.size(), power, first).begin;
        const std::size_t end = chunk_bounds(data.size(), power, first + d - 1).end;
        return data.subspan(begin, end - begin);
    };
    const auto exchange = [&](std::span<const float> out, std::span<float> in, int partner) {
        MPI_CHECK(MPI_Sendrecv(
            out.data(), static_cast<int>(out.size()), MPI_FLOAT, partner, 0,  //
            in.data(), static_cast<int>(in.size()), MPI_FLOAT, partner, 0,    //
            comm.handle(), MPI_STATUS_IGNORE
        ));
    };
    for (int d = power / 2; d > 0; d /= 2) {
        const auto in = std::span(incoming).first(kept(r, d).size());
        exchange(kept(r ^ d, d), in, r ^ d);
        accumulate(in, kept(r, d), op);
    }
    if (op == ReduceOp::mean) {
        scale(kept(r, 1), 1.0F / static_cast<float>(p));
    }
    for (int d = 1; d < power; d *= 2) {
        exchange(kept(r, d), kept(r ^ d, d), r ^ d);
    }
    if (r + power < p) {
        send(data, r + power, comm);
    }
}

}  // namespace dist
