// Right: probes, wildcards, derived types, a group of a group, MPI_IN_PLACE, non-blocking collectives.
// state: pass

#include <numeric>
#include <vector>

#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    // a column of a 4 x 4 matrix, sent as a vector type, received as four floats of unknown length
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_CHECK(MPI_Type_vector(4, 1, 4, MPI_FLOAT, &column));
    MPI_CHECK(MPI_Type_commit(&column));
    std::vector<float> matrix(16);
    std::iota(matrix.begin(), matrix.end(), 0.0F);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Isend(matrix.data(), 1, column, next, 3, comm.handle(), &request));
    MPI_Status status;
    MPI_CHECK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm.handle(), &status));
    int n = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &n));
    std::vector<float> in(static_cast<std::size_t>(n));
    MPI_CHECK(MPI_Recv(
        in.data(), n, MPI_FLOAT, status.MPI_SOURCE, status.MPI_TAG, comm.handle(), MPI_STATUS_IGNORE
    ));
    MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Type_free(&column));
    if (n != 4 || in[3] != 12.0F) {
        throw Error("the column did not arrive");
    }
    const Communicator half = comm.split(comm.rank() % 2).dup();
    float sum = 1;
    MPI_CHECK(MPI_Reduce(
        half.rank() == 0 ? MPI_IN_PLACE : &sum, &sum, 1, MPI_FLOAT, MPI_SUM, 0, half.handle()
    ));
    MPI_CHECK(MPI_Ibcast(&sum, 1, MPI_FLOAT, 0, half.handle(), &request));
    MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (sum != static_cast<float>(p) / 2) {
        throw Error("the group's sum is wrong");
    }
}

}  // namespace dist
