// The last chunk takes what p does not divide: of 7 elements on 4 ranks, chunks of 1, 1, 1 and 4.
#include <algorithm>
#include <vector>

#include <mpi.h>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {
namespace {

/// Chunk i mod p. Of fewer elements than ranks, each is a chunk.
std::span<float> chunk_of(std::span<float> data, int p, int i) {
    const std::size_t each = std::max<std::size_t>(1, data.size() / static_cast<std::size_t>(p));
    const int place = (i + p) % p;
    const auto rest = data.subspan(std::min(data.size(), static_cast<std::size_t>(place) * each));
    return place == p - 1 ? rest : rest.first(std::min(rest.size(), each));
}

void shift(std::span<const float> out, std::span<float> in, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Isend(
        out.data(), static_cast<int>(out.size()), MPI_FLOAT, (r + 1) % p, 0, comm.handle(), &request
    ));
    MPI_CHECK(MPI_Recv(
        in.data(), static_cast<int>(in.size()), MPI_FLOAT, (r + p - 1) % p, 0, comm.handle(),
        MPI_STATUS_IGNORE
    ));
    MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

}  // namespace

void ring_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    std::vector<float> incoming(
        std::max(chunk_of(data, p, 0).size(), chunk_of(data, p, p - 1).size())
    );
    for (int s = 0; s < p - 1; ++s) {
        const auto mine = chunk_of(data, p, r - s - 1);
        const auto in = std::span(incoming).first(mine.size());
        shift(chunk_of(data, p, r - s), in, comm);
        accumulate(in, mine, op);
    }
    if (op == ReduceOp::mean) {
        scale(chunk_of(data, p, r + 1), 1.0F / static_cast<float>(p));
    }
    for (int s = 0; s < p - 1; ++s) {
        shift(chunk_of(data, p, r + 1 - s), chunk_of(data, p, r - s), comm);
    }
}

}  // namespace dist
