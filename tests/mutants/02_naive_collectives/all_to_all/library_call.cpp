// It calls the function that it is to build.
// state: forbidden
// says: all_to_all is to be built from messages
#include <mpi.h>

#include "exercises/02_naive_collectives/all_to_all.hpp"

namespace dist {

void all_to_all(std::span<const float> in, std::span<float> out, const Communicator& comm) {
    const int p = comm.size();
    expects(in.size() == out.size(), "all_to_all: out must be as long as in");
    expects(in.size() % static_cast<std::size_t>(p) == 0, "all_to_all: p must divide in.size()");
    const int m = static_cast<int>(in.size()) / p;
    MPI_CHECK(MPI_Alltoall(in.data(), m, MPI_FLOAT, out.data(), m, MPI_FLOAT, comm.handle()));
}

}  // namespace dist
